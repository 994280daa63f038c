"""XML that somebody else wrote, parsed without following what its DTD could do.

Not defusedxml: it swaps the C parser of ElementTree for the one in Python, ten times slower over
the megabytes of a spreadsheet. Only a DTD can define entities, and it ends where the root begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO
from xml.etree.ElementTree import Element, iterparse, parse
from xml.parsers import expat

_PIECE = 65_536
# Illustrator abbreviates its namespaces so; longer ones are there to multiply.
_LONGEST_ENTITY = 200


class _RootReached(Exception):
    """The DTD, if there is one, lies behind."""


def parse_xml(stream: IO[bytes]) -> Element:
    """The root of a document; ``stream`` can seek.

    Raises:
        ValueError: the DTD defines entities that multiply.
        xml.etree.ElementTree.ParseError: not well-formed, or an entity that nobody defined.
    """
    _check_entities(stream)
    return parse(stream).getroot()


def xml_events(stream: IO[bytes]) -> Iterator[tuple[str, Element]]:
    """``("start" | "end", element)`` as the document goes by; raises as ``parse_xml`` does.

    The caller clears the elements that it has read, or they stay in memory.
    """
    _check_entities(stream)
    yield from iterparse(stream, events=("start", "end"))


def _check_entities(stream: IO[bytes]) -> None:
    def declared(name: str, parameter: int, value: str | None, *_: str | None) -> None:
        if value is not None and (len(value) > _LONGEST_ENTITY or "&" in value or "%" in value):
            raise ValueError(f"the XML entity {name} would multiply")

    def root(name: str, attributes: object) -> None:
        raise _RootReached

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declared
    parser.StartElementHandler = root
    try:
        while piece := stream.read(_PIECE):
            parser.Parse(piece)
    except (_RootReached, expat.ExpatError):  # what is malformed, the real parser says better
        stream.seek(0)
        return
    stream.seek(0)
