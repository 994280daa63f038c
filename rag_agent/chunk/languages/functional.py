"""Haskell, OCaml, Elixir, Erlang and the Lisps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import (
    LEADING,
    DefinitionKind,
    Found,
    Reader,
    Row,
    Text,
    first_of,
    found,
    holding,
    named,
    simple_name,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _haskell_function(node: Node, text: Text) -> Found | None:
    """An equation or a signature; operators are defined without their parentheses."""
    if (names := node.child_by_field_name("names")) is not None:  # f, g :: Int
        shown_names = tuple(text(child).strip("() ") for child in names.named_children)
        return Found("function", ", ".join(shown_names), shown_names)
    name = node.child_by_field_name("name")
    if name is None:
        infix = next((c for c in node.named_children if c.type == "infix"), None)
        name = infix and infix.child_by_field_name("operator")
    shown = text(name).strip("()` ")
    return Found("function", shown, (shown,)) if shown else None


def _haskell_instance(node: Node, text: Text) -> Found | None:
    """``instance Show (Foo a)`` is an implementation of ``Foo``."""
    name = text(node.child_by_field_name("name"))
    patterns = text(node.child_by_field_name("patterns"))
    words = patterns.replace("(", " ").replace("[", " ").replace(")", " ").split()
    target = simple_name(words[0]) if words else name
    return Found("implementation", f"instance {name} {patterns}".strip(), (target,))


def _haskell_pattern(node: Node, text: Text) -> Found | None:
    return found("constant", "pattern", text(first_of(node, "constructor", "prefix_id")))


_ELIXIR: Mapping[str, tuple[DefinitionKind, str]] = {
    "defmodule": ("module", "defmodule"),
    "defprotocol": ("type", "defprotocol"),
    "defimpl": ("implementation", "defimpl"),
    "def": ("function", "def"),
    "defp": ("function", "defp"),
    "defmacro": ("function", "defmacro"),
    "defmacrop": ("function", "defmacrop"),
    "defguard": ("function", "defguard"),
    "defguardp": ("function", "defguardp"),
    "defdelegate": ("function", "defdelegate"),
}


def _elixir_call(node: Node, text: Text) -> Found | None:
    """``defmodule``, ``def`` and their relatives are calls in Elixir's grammar."""
    row = _ELIXIR.get(text(node.child_by_field_name("target")))
    arguments = next((c for c in node.named_children if c.type == "arguments"), None)
    if row is None or arguments is None or not arguments.named_children:
        return None
    head = arguments.named_children[0]
    if head.type == "binary_operator" and text(head.child_by_field_name("operator")) == "when":
        head = head.child_by_field_name("left") or head
    if head.type == "binary_operator":  # def a + b
        operator = text(head.child_by_field_name("operator"))
        return Found(row[0], f"{row[1]} {operator}", (operator,))
    return found(row[0], row[1], text(head.child_by_field_name("target") or head))


_ELIXIR_LEADING = frozenset(("doc", "spec", "impl", "typedoc", "since", "deprecated", "dialyzer"))
_ELIXIR_TYPES = frozenset(("type", "typep", "opaque", "callback", "macrocallback"))


def _elixir_attribute(node: Node, text: Text) -> Found | None:
    """``@doc`` and ``@spec`` lead, ``@type`` and ``@callback`` define, ``@limit 3`` is constant."""
    operand = node.child_by_field_name("operand")
    if operand is None or operand.type != "call" or not text(node).startswith("@"):
        return None
    name = text(operand.child_by_field_name("target"))
    if name in _ELIXIR_LEADING:
        return LEADING
    if name in _ELIXIR_TYPES:
        head: Node | None = first_of(operand, "binary_operator")
        head = head and head.child_by_field_name("left")
        kind: DefinitionKind = "function" if "callback" in name else "type"
        target = head and (head.child_by_field_name("target") or head)
        return found(kind, f"@{name}", text(target))
    return None if name == "moduledoc" else Found("constant", f"@{name}", (name,))


def _leading(node: Node, text: Text) -> Found | None:
    return LEADING


def _erlang_function(node: Node, text: Text) -> Found | None:
    clause = node.child_by_field_name("clause")
    return found("function", "", text(clause and clause.child_by_field_name("name")))


def _erlang_macro(node: Node, text: Text) -> Found | None:
    head = node.child_by_field_name("lhs")
    return found("constant", "-define", text(head and head.child_by_field_name("name")))


def _ocaml_values(node: Node, text: Text) -> Found | None:
    """``let f x = …`` is a function when it takes parameters or is a function expression."""
    binding = next((c for c in node.named_children if c.type == "let_binding"), None)
    pattern = binding and binding.child_by_field_name("pattern")
    if (
        binding is None
        or pattern is None
        or pattern.type not in ("value_name", "parenthesized_operator")
    ):
        return None
    body = binding.child_by_field_name("body")
    takes = any(child.type == "parameter" for child in binding.named_children)
    is_function = takes or (
        body is not None and body.type in ("function_expression", "fun_expression")
    )
    return found("function" if is_function else "constant", "let", text(pattern))


_LISP: Mapping[str, DefinitionKind] = {
    **dict.fromkeys(("ns", "defpackage", "module", "define-module", "define-library"), "module"),
    **dict.fromkeys(
        "defn defn- defmacro defmulti defun defsubst defgeneric defalias define-syntax"
        " define-syntax-rule define-macro define-minor-mode".split(),
        "function",
    ),
    "defmethod": "implementation",
    **dict.fromkeys(
        "defprotocol defrecord deftype definterface defclass defstruct struct cl-defstruct"
        " define-record-type define-struct".split(),
        "type",
    ),
    **dict.fromkeys(
        ("def", "defonce", "defvar", "defconst", "defparameter", "defcustom"), "constant"
    ),
}


def _lisp_list(node: Node, text: Text) -> Found | None:
    """``(defn foo …)``, ``(define (f x) …)``, ``(define y 1)``."""
    parts = node.named_children[:2]
    if len(parts) < 2:
        return None
    word, head = text(parts[0]), parts[1]
    if word in ("define", "define*", "define/contract"):
        if head.type != "list":
            return _lisp_name("constant", word, head, text)
        return (
            _lisp_name("function", word, head.named_children[0], text)
            if head.named_children
            else None
        )
    if head.type == "list" and head.named_children:
        head = head.named_children[0]
    return _lisp_name(_LISP[word], word, head, text) if word in _LISP else None


def _lisp_name(kind: DefinitionKind, word: str, node: Node, text: Text) -> Found | None:
    shown = text(node.child_by_field_name("name") or node)
    return Found(kind, f"{word} {shown}", (shown.rpartition(".")[2] or shown,)) if shown else None


_SCHEME: Mapping[str, Reader] = {"list": _lisp_list}

ROWS: Mapping[str, Row] = {
    "haskell": Row(
        {
            "header": named("module", "module", "module"),
            "data_type": named("type", "data"),
            "newtype": named("type", "newtype"),
            "type_synomym": named("type", "type"),  # spelt so in the grammar
            "type_synonym": named("type", "type"),
            "class": named("type", "class"),
            "type_family": named("type", "type family"),
            "data_family": named("type", "data family"),
            "instance": _haskell_instance,
            "signature": _haskell_function,
            "function": _haskell_function,
            "bind": _haskell_function,
            "pattern_synonym": _haskell_pattern,
        },
        through="declarations",
        leading="haddock pragma",
        outer="signature function bind",
        clauses=True,
    ),
    "ocaml": Row(
        {
            "module_definition": holding("module", "module", "module_name"),
            "module_type_definition": holding("type", "module type", "module_type_name"),
            "type_definition": holding("type", "type", "type_constructor"),
            "exception_definition": holding("type", "exception", "constructor_name"),
            "class_definition": holding("type", "class", "class_name"),
            "method_definition": holding("function", "method", "method_name"),
            "value_definition": _ocaml_values,
            "value_specification": holding("function", "val", "value_name"),
            "external": holding("function", "external", "value_name"),
        },
        leading="attribute",
    ),
    "elixir": Row(
        {"call": _elixir_call, "unary_operator": _elixir_attribute},
        outer="unary_operator",
        clauses=True,
    ),
    "erlang": Row(
        {
            "module_attribute": named("module", "-module"),
            "record_decl": named("type", "-record"),
            "pp_define": _erlang_macro,
            "type_alias": named("type", "-type", "name.name"),
            "opaque": named("type", "-opaque", "name.name"),
            "callback": named("function", "-callback", "fun"),
            "spec": _leading,
            "fun_decl": _erlang_function,
        },
        clauses=True,
    ),
    "clojure": Row({"list_lit": _lisp_list}),
    "scheme": Row(_SCHEME),
    "racket": Row(_SCHEME),
}
