"""Schemas, queries, styles, builds and infrastructure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import (
    DefinitionKind,
    Found,
    Row,
    Text,
    found,
    holding,
    named,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _hcl_block(node: Node, text: Text) -> Found | None:
    """``resource "aws_x" "y"`` defines ``y``; ``locals`` only is a scope."""
    parts = [text(c).strip('"') for c in node.named_children if c.type in _HCL_LABELS]
    if len(parts) < 2:
        return None
    return Found("type", " ".join(parts), (parts[-1],))


_HCL_LABELS = ("identifier", "string_lit")


def _nix_binding(node: Node, text: Text) -> Found | None:
    value = node.child_by_field_name("expression")
    kind: DefinitionKind = (
        "function" if value is not None and value.type == "function_expression" else "constant"
    )
    return found(kind, "", text(node.child_by_field_name("attrpath")))


_CMAKE_COMMANDS = frozenset(("add_library", "add_executable", "add_custom_target", "project"))


def _cmake_definition(node: Node, text: Text) -> Found | None:
    """``function(foo a b)`` names itself in its first argument."""
    command = node.named_children[0] if node.named_children else None
    return _cmake_argument("function", command, text)


def _cmake_command(node: Node, text: Text) -> Found | None:
    name = text(node.named_children[0] if node.named_children else None).lower()
    if name == "set":
        return _cmake_argument("constant", node, text)
    return _cmake_argument("type", node, text, name) if name in _CMAKE_COMMANDS else None


def _cmake_argument(
    kind: DefinitionKind, node: Node | None, text: Text, word: str = ""
) -> Found | None:
    arguments = (
        next((c for c in node.named_children if c.type == "argument_list"), None) if node else None
    )
    first = text(arguments.named_children[0]) if arguments and arguments.named_children else ""
    return Found(kind, f"{word or kind} {first}", (first,)) if first else None


def _make_rule(node: Node, text: Text) -> Found | None:
    targets = text(node.named_children[0] if node.named_children else None).split()
    if not targets or targets[0].startswith("."):
        return None
    return Found("function", targets[0], tuple(targets))


def _just_recipe(node: Node, text: Text) -> Found | None:
    header = next((c for c in node.named_children if c.type == "recipe_header"), None)
    return found("function", "", text(header and header.child_by_field_name("name")))


def _selectors(node: Node, text: Text) -> Found | None:
    """A style rule is a scope named after its selectors; it defines no name."""
    head = node.named_children[0] if node.named_children else None
    return Found("constant", text(head)[:80], ())


_SQL_OBJECTS: Mapping[str, tuple[DefinitionKind, str]] = {
    "create_table": ("type", "create table"),
    "create_view": ("type", "create view"),
    "create_materialized_view": ("type", "create materialized view"),
    "create_type": ("type", "create type"),
    "create_function": ("function", "create function"),
    "create_procedure": ("function", "create procedure"),
    "create_trigger": ("function", "create trigger"),
    "create_sequence": ("constant", "create sequence"),
}


ROWS: Mapping[str, Row] = {
    "sql": Row(
        {
            **{
                node: holding(kind, word, "object_reference")
                for node, (kind, word) in _SQL_OBJECTS.items()
            },
            "create_index": named("constant", "create index", "column"),
        },
        through="statement",
    ),
    "proto": Row(
        {
            "message": holding("type", "message", "message_name"),
            "enum": holding("type", "enum", "enum_name"),
            "service": holding("type", "service", "service_name"),
            "rpc": holding("function", "rpc", "rpc_name"),
        }
    ),
    "graphql": Row(
        {
            "object_type_definition": holding("type", "type", "name"),
            "input_object_type_definition": holding("type", "input", "name"),
            "interface_type_definition": holding("type", "interface", "name"),
            "enum_type_definition": holding("type", "enum", "name"),
            "union_type_definition": holding("type", "union", "name"),
            "scalar_type_definition": holding("type", "scalar", "name"),
            "directive_definition": holding("function", "directive", "name"),
            "operation_definition": holding("function", "", "name"),
            "fragment_definition": holding("function", "fragment", "fragment_name"),
        },
        through="definition type_system_definition type_definition executable_definition",
    ),
    "hcl": Row({"block": _hcl_block}, through="body"),
    "nix": Row({"binding": _nix_binding}, through="binding_set"),
    "cmake": Row(
        {
            "function_def": _cmake_definition,
            "macro_def": _cmake_definition,
            "normal_command": _cmake_command,
        }
    ),
    "make": Row(
        {
            "rule": _make_rule,
            "variable_assignment": named("constant"),
            "define_directive": named("function", "define"),
        }
    ),
    "just": Row(
        {
            "recipe": _just_recipe,
            "assignment": named("constant", "", "left"),
        }
    ),
    "dockerfile": Row({"from_instruction": named("type", "FROM", "as")}),
    "jsonnet": Row(
        {
            "bind": named("function", "local", "function"),
            "field": named("function", "", "function"),
        },
        through="local_bind member",
    ),
    "css": Row({"rule_set": _selectors}),
    "scss": Row(
        {
            "rule_set": _selectors,
            "mixin_statement": holding("function", "@mixin", "name"),
            "function_statement": holding("function", "@function", "name"),
        }
    ),
}
