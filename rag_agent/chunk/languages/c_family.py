"""C, C++ and Objective-C: the name is at the bottom of a chain of declarators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import (
    DefinitionKind,
    Found,
    Reader,
    Row,
    Text,
    found,
    holding,
    named,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_WRAPPERS = frozenset(("parenthesized_declarator", "reference_declarator", "attributed_declarator"))


def _innermost(node: Node) -> tuple[Node | None, bool]:
    """The node that holds the declared name, and whether it is the name of a function."""
    current: Node | None = node.child_by_field_name("declarator")
    is_function = False
    while current is not None:
        inner = current.child_by_field_name("declarator")
        if current.type in _WRAPPERS and inner is None:
            inner = current.named_children[-1] if current.named_children else None
        if current.type == "function_declarator" and inner is not None:
            # int (*name)(int) declares a variable that points to a function.
            is_function = inner.type != "parenthesized_declarator"
        if inner is None or current.type == "operator_cast":
            return current, is_function
        current = inner
    return None, is_function


def _declared(node: Node, text: Text) -> str:
    declarator, _ = _innermost(node)
    shown = text(declarator)
    if declarator is not None and declarator.type == "operator_cast":
        return shown.partition("(")[0].strip()
    return shown


def _qualified(kind: DefinitionKind, shown: str) -> Found | None:
    """``ns::Foo<T>::bar`` is shown whole and defines ``bar``."""
    if "operator" in shown:
        start = shown.index("operator")
        return Found(kind, shown, (shown[start:],))
    last = shown.rpartition("::")[2]
    result = found(kind, "", last)
    return result and Found(kind, shown, result.names)


def _function(node: Node, text: Text) -> Found | None:
    return _qualified("function", _declared(node, text))


def _declaration(node: Node, text: Text) -> Found | None:
    """A prototype is a function, a variable with a value or outside of a class a constant."""
    declarator, is_function = _innermost(node)
    if declarator is None:
        return None
    return _qualified("function" if is_function else "constant", _declared(node, text))


def _member(node: Node, text: Text) -> Found | None:
    """Of the members of a class its methods; fields are found through their class."""
    result = _declaration(node, text)
    return result if result is not None and result.kind == "function" else None


def _with_body(word: str) -> Reader:
    read = named("type", word)

    def read_definition(node: Node, text: Text) -> Found | None:
        # ``struct foo`` without a body only mentions the type.
        return read(node, text) if node.child_by_field_name("body") is not None else None

    return read_definition


def _typedef(node: Node, text: Text) -> Found | None:
    return found("type", "typedef", _declared(node, text))


def _macro(node: Node, text: Text) -> Found | None:
    # A macro without a value is an include guard or a switch.
    return named("constant")(node, text) if node.child_by_field_name("value") is not None else None


def _selector(node: Node, text: Text) -> Found | None:
    """``bar:baz:`` is shown whole and defines ``bar``."""
    parts = [text(child) for child in node.named_children if child.type == "identifier"]
    if not parts:
        return None
    takes = any(child.type == "method_parameter" for child in node.named_children)
    return Found("function", ":".join(parts) + (":" if takes else ""), (parts[0],))


_C: Mapping[str, Reader] = {
    "function_definition": _function,
    "declaration": _declaration,
    "struct_specifier": _with_body("struct"),
    "union_specifier": _with_body("union"),
    "enum_specifier": _with_body("enum"),
    "enumerator": named("constant"),
    "type_definition": _typedef,
    "preproc_def": _macro,
    "preproc_function_def": named("function", "#define"),
}
_CPP: Mapping[str, Reader] = {
    **_C,
    "class_specifier": _with_body("class"),
    "field_declaration": _member,
    "alias_declaration": named("type", "using"),
    "concept_definition": named("type", "concept"),
}
_OBJC: Mapping[str, Reader] = {
    **_C,
    "class_interface": holding("type", "@interface", "identifier"),
    "class_implementation": holding("implementation", "@implementation", "identifier"),
    "category_interface": holding("type", "@interface", "identifier"),
    "category_implementation": holding("implementation", "@implementation", "identifier"),
    "protocol_declaration": holding("type", "@protocol", "identifier"),
    "method_definition": _selector,
    "method_declaration": _selector,
}

ROWS: Mapping[str, Row] = {
    "c": Row(_C, through="linkage_specification", outer="declaration"),
    "cpp": Row(
        _CPP,
        through="template_declaration linkage_specification export_declaration",
        leading="access_specifier attribute_declaration",
        outer="declaration",
    ),
    "objc": Row(_OBJC, through="implementation_definition", outer="declaration"),
}
