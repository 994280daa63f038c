"""JavaScript, TypeScript and the component files that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import (
    Found,
    Reader,
    Row,
    Text,
    found,
    named,
    nameless,
    several,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset(("arrow_function", "function_expression", "generator_function", "function"))
# React.memo(() => …), defineComponent({…}): a call around the function keeps it a function.
_CALL = "call_expression"


def _value_kind(node: Node | None) -> str:
    if node is None:
        return ""
    if node.type in _FUNCTIONS:
        return "function"
    if node.type == "class":
        return "type"
    if node.type == _CALL:
        arguments = node.child_by_field_name("arguments")
        inner = arguments.named_children if arguments else []
        return "function" if any(child.type in _FUNCTIONS for child in inner[:1]) else ""
    return ""


def _variable(node: Node, text: Text) -> Found | None:
    """``const f = () => …`` is a function, other variables are constants."""
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    if name is None or text(value).startswith(("require(", "import(")):
        return None
    kind = _value_kind(value)
    if name.type != "identifier":  # const { a, b } = …
        return several("constant", (text(child) for child in name.named_children))
    if kind == "function":
        return found("function", "const", text(name))
    return found("type" if kind else "constant", "class" if kind else "", text(name))


def _assignment(node: Node, text: Text) -> Found | None:
    """``exports.x = …`` and ``Foo.prototype.bar = function``; plain values only on exports."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "member_expression":
        return None
    shown = text(left)
    kind = _value_kind(node.child_by_field_name("right"))
    if kind == "function":
        return found("function", "function", shown)
    if kind == "type":
        return found("type", "class", shown)
    exported = shown.startswith(("exports.", "module.exports."))
    return found("constant", "", shown) if exported else None


def _pair(node: Node, text: Text) -> Found | None:
    """``{ bar: function () {…} }``."""
    if _value_kind(node.child_by_field_name("value")) != "function":
        return None
    return found("function", "", text(node.child_by_field_name("key")))


def _property(field: str) -> Reader:
    def read(node: Node, text: Text) -> Found | None:
        kind = _value_kind(node.child_by_field_name("value"))
        shown = text(node.child_by_field_name(field))
        return found("function" if kind == "function" else "constant", "", shown)

    return read


_JAVASCRIPT: Mapping[str, Reader] = {
    "class_declaration": named("type", "class"),
    "class": named("type", "class"),
    "function_declaration": named("function", "function"),
    "generator_function_declaration": named("function", "function*"),
    "method_definition": named("function"),
    "field_definition": _property("property"),
    "variable_declarator": _variable,
    "assignment_expression": _assignment,
    "pair": _pair,
    "arrow_function": nameless,
    "function_expression": nameless,
}
_TYPESCRIPT: Mapping[str, Reader] = {
    **_JAVASCRIPT,
    "abstract_class_declaration": named("type", "class"),
    "interface_declaration": named("type", "interface"),
    "type_alias_declaration": named("type", "type"),
    "enum_declaration": named("type", "enum"),
    "internal_module": named("module", "namespace"),
    "module": named("module", "module"),
    "function_signature": named("function", "function"),
    "method_signature": named("function"),
    "abstract_method_signature": named("function"),
    "public_field_definition": _property("name"),
}
_THROUGH = (
    "export_statement expression_statement lexical_declaration variable_declaration"
    " ambient_declaration"
)
_TYPESCRIPT_ROW = Row(_TYPESCRIPT, through=_THROUGH, leading="decorator", clauses=True)

ROWS: Mapping[str, Row] = {
    "javascript": Row(_JAVASCRIPT, through=_THROUGH, leading="decorator"),
    "typescript": _TYPESCRIPT_ROW,
    "tsx": _TYPESCRIPT_ROW,
    # TypeScript reads nearly all JavaScript, so the script's own lang attribute is not needed.
    "vue": Row(through="script_element", embedded={"raw_text": "typescript"}),
    "svelte": Row(through="script_element", embedded={"raw_text": "typescript"}),
    "astro": Row(through="frontmatter", embedded={"frontmatter_js_block": "typescript"}),
}
