"""Go, Rust, Zig, Fortran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import (
    DefinitionKind,
    Found,
    Reader,
    Row,
    Text,
    all_named,
    found,
    holding,
    named,
    nameless,
    simple_name,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _go_method(node: Node, text: Text) -> Found | None:
    """``func (s *Server[T]) Foo()`` is shown as ``func (Server) Foo``."""
    name = text(node.child_by_field_name("name"))
    receiver = text(node.child_by_field_name("receiver")).strip("() ")
    owner = simple_name(receiver.split(" ")[-1].lstrip("*")) if receiver else ""
    return Found("function", f"func ({owner}) {name}", (name,)) if name else None


def _rust_implementation(node: Node, text: Text) -> Found | None:
    """``impl Display for Foo<T>`` is an implementation of ``Foo``."""
    target = text(node.child_by_field_name("type"))
    trait = text(node.child_by_field_name("trait"))
    shown = f"impl {trait} for {target}" if trait else f"impl {target}"
    name = simple_name(target.lstrip("&* "))
    return Found("implementation", shown, (name,)) if name else None


_ZIG_TYPES = {
    "struct_declaration": "struct",
    "enum_declaration": "enum",
    "union_declaration": "union",
    "opaque_declaration": "opaque",
    "error_set_declaration": "error",
}


def _zig_variable(node: Node, text: Text) -> Found | None:
    """``const Foo = struct {…}`` is a type; ``const x = @import(…)`` defines nothing here."""
    names = [child for child in node.named_children if child.type == "identifier"]
    if not names or any(text(c).startswith("@import") for c in node.named_children[1:2]):
        return None
    word = next(
        (_ZIG_TYPES[child.type] for child in node.named_children if child.type in _ZIG_TYPES), ""
    )
    return found("type" if word else "constant", word, text(names[0]))


def _fortran(word: str, statement: str, kind: DefinitionKind = "function") -> Reader:
    def read(node: Node, text: Text) -> Found | None:
        head = next((c for c in node.named_children if c.type == statement), None)
        name = head and (head.child_by_field_name("name") or _first_name(head))
        return found(kind, word, text(name))

    return read


def _first_name(node: Node) -> Node | None:
    return next((c for c in node.named_children if c.type in ("name", "type_name")), None)


ROWS: Mapping[str, Row] = {
    "go": Row(
        {
            "function_declaration": named("function", "func"),
            "method_declaration": _go_method,
            "type_spec": named("type", "type"),
            "type_alias": named("type", "type"),
            "const_spec": all_named("constant"),
            "var_spec": all_named("constant"),
            "method_elem": named("function"),
            "func_literal": nameless,
        },
        through="type_declaration const_declaration var_declaration var_spec_list",
    ),
    "rust": Row(
        {
            "struct_item": named("type", "struct"),
            "enum_item": named("type", "enum"),
            "union_item": named("type", "union"),
            "trait_item": named("type", "trait"),
            "type_item": named("type", "type"),
            "associated_type": named("type", "type"),
            "impl_item": _rust_implementation,
            "mod_item": named("module", "mod"),
            "function_item": named("function", "fn"),
            "function_signature_item": named("function", "fn"),
            "macro_definition": named("function", "macro_rules!"),
            "const_item": named("constant", "const"),
            "static_item": named("constant", "static"),
            "enum_variant": named("constant"),
            "closure_expression": nameless,
        },
        leading="attribute_item inner_attribute_item",
    ),
    "zig": Row(
        {
            "function_declaration": named("function", "fn"),
            "variable_declaration": _zig_variable,
            "test_declaration": holding("function", "test", "string", "identifier"),
        }
    ),
    "fortran": Row(
        {
            "module": _fortran("module", "module_statement", "module"),
            "submodule": _fortran("submodule", "submodule_statement", "module"),
            "program": _fortran("program", "program_statement"),
            "subroutine": _fortran("subroutine", "subroutine_statement"),
            "function": _fortran("function", "function_statement"),
            "derived_type_definition": _fortran("type", "derived_type_statement", "type"),
        }
    ),
}
