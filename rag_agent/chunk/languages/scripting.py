"""Python, Ruby, PHP, Lua, Perl, shells, R and Julia."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import (
    Found,
    Reader,
    Row,
    Text,
    found,
    holding,
    named,
    nameless,
    several,
    simple_name,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _python_assignment(node: Node, text: Text) -> Found | None:
    left = node.child_by_field_name("left")
    if left is None:
        return None
    targets = left.named_children if left.type.endswith("_list") else [left]
    return several("constant", (text(target) for target in targets))


_RUBY_TYPES = ("Struct.new", "Class.new", "Data.define", "Module.new")


def _ruby_assignment(node: Node, text: Text) -> Found | None:
    """``Foo = Struct.new(:a)`` is a type; only constants are definitions in Ruby."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "constant":
        return None
    is_type = text(node.child_by_field_name("right")).startswith(_RUBY_TYPES)
    return found("type" if is_type else "constant", "class" if is_type else "", text(left))


def _ruby_singleton(node: Node, text: Text) -> Found | None:
    owner = text(node.child_by_field_name("object"))
    name = text(node.child_by_field_name("name"))
    return Found("function", f"def {owner}.{name}", (name,)) if name else None


_RUBY_CALLS = frozenset(
    "attr_reader attr_writer attr_accessor define_method alias_method delegate def_delegator"
    " def_delegators scope task namespace".split()
)


def _ruby_call(node: Node, text: Text) -> Found | None:
    """``attr_reader :a, :b`` and ``define_method(:x)`` define what their symbols name."""
    if text(node.child_by_field_name("method")) not in _RUBY_CALLS:
        return None
    arguments = node.child_by_field_name("arguments")
    symbols = (
        (c for c in arguments.named_children if c.type == "simple_symbol") if arguments else ()
    )
    names = tuple(text(symbol).lstrip(":") for symbol in symbols)
    return Found("function", f"def {names[0]}", names) if names else None


def _php_constants(node: Node, text: Text) -> Found | None:
    names = (
        text(child.named_children[0])
        for child in node.named_children
        if child.type == "const_element" and child.named_children
    )
    return several("constant", names)


def _php_define(node: Node, text: Text) -> Found | None:
    if text(node.child_by_field_name("function")) != "define":
        return None
    arguments = node.child_by_field_name("arguments")
    name = text(arguments.named_children[0]) if arguments and arguments.named_children else ""
    return found("constant", "", name.strip("\"'"))


def _php_property(node: Node, text: Text) -> Found | None:
    return several(
        "constant",
        (
            text(child.child_by_field_name("name")).lstrip("$")
            for child in node.named_children
            if child.type == "property_element"
        ),
    )


def _lua_assignment(node: Node, text: Text) -> Found | None:
    """``M.foo = function`` is a function; a name that gets a value at the top is a constant."""
    targets = next((c for c in node.named_children if c.type == "variable_list"), None)
    values = next((c for c in node.named_children if c.type == "expression_list"), None)
    if targets is None or not targets.named_children:
        return None
    shown = text(targets.named_children[0])
    value = values.named_children[0] if values is not None and values.named_children else None
    if value is not None and value.type == "function_definition":
        return found("function", "function", shown)
    if "[" in shown or text(value).startswith("require"):
        return None
    return Found("constant", shown, (simple_name(shown),))


def _lua_field(node: Node, text: Text) -> Found | None:
    value = node.child_by_field_name("value")
    if value is None or value.type != "function_definition":
        return None
    return found("function", "function", text(node.child_by_field_name("name")))


def _r_assignment(node: Node, text: Text) -> Found | None:
    """``f <- function(x)`` and ``K = 3``."""
    if text(node.child_by_field_name("operator")) not in ("<-", "=", "<<-"):
        return None
    left, right = node.child_by_field_name("lhs"), node.child_by_field_name("rhs")
    if left is None or left.type not in ("identifier", "string"):
        return None
    name = text(left).strip("\"'`")
    if right is not None and right.type == "function_definition":
        return Found("function", f"function {name}", (name,))
    return Found("constant", name, (name,))


def _bash_alias(node: Node, text: Text) -> Found | None:
    if text(node.child_by_field_name("name")) != "alias":
        return None
    argument = node.child_by_field_name("argument")
    name = text(argument).partition("=")[0]
    return Found("function", f"alias {name}", (name,)) if name else None


def _head(kind: str, word: str) -> Reader:
    """Julia keeps names inside heads: ``f(x)::T where T``, ``A{T} <: B``."""

    def read(node: Node, text: Text) -> Found | None:
        head = next((c for c in node.named_children if c.type in ("signature", "type_head")), None)
        shown = text(_leftmost(head)) if head else text(node.child_by_field_name("name"))
        return found(kind, word, shown)  # type: ignore[arg-type]

    return read


def _leftmost(node: Node | None) -> Node | None:
    while node is not None and node.type not in ("identifier", "field_expression", "operator"):
        node = node.named_children[0] if node.named_children else None
    return node


def _julia_assignment(node: Node, text: Text) -> Found | None:
    """``g(x) = x`` is a function."""
    left = node.named_children[0] if node.named_children else None
    if left is None:
        return None
    if left.type == "identifier":
        return found("constant", "", text(left))
    if left.type in ("call_expression", "where_expression", "typed_expression"):
        return found("function", "function", text(_leftmost(left)))
    return None


def _powershell_assignment(node: Node, text: Text) -> Found | None:
    shown = text(node.named_children[0]) if node.named_children else ""
    return several("constant", iter((shown.lstrip("$").rpartition(":")[2],)))


_PYTHON: Mapping[str, Reader] = {
    "class_definition": named("type", "class"),
    "function_definition": named("function", "def"),
    "assignment": _python_assignment,
    "type_alias_statement": named("type", "type", "left"),
    "lambda": nameless,
}
_PHP = Row(
    {
        "class_declaration": named("type", "class"),
        "interface_declaration": named("type", "interface"),
        "trait_declaration": named("type", "trait"),
        "enum_declaration": named("type", "enum"),
        "function_definition": named("function", "function"),
        "method_declaration": named("function", "function"),
        "const_declaration": _php_constants,
        "property_declaration": _php_property,
        "enum_case": named("constant", "case"),
        "function_call_expression": _php_define,
        "anonymous_function": nameless,
        "arrow_function": nameless,
    },
    through="expression_statement",
    outer="function_call_expression",
)

ROWS: Mapping[str, Row] = {
    "python": Row(_PYTHON, through="decorated_definition expression_statement"),
    "starlark": Row(_PYTHON, through="decorated_definition expression_statement"),
    "ruby": Row(
        {
            "class": named("type", "class"),
            "module": named("module", "module"),
            "method": named("function", "def"),
            "singleton_method": _ruby_singleton,
            "assignment": _ruby_assignment,
            "call": _ruby_call,
            "alias": named("function", "alias"),
        },
        through="body_statement",
    ),
    "php": _PHP,
    "lua": Row(
        {
            "function_declaration": named("function", "function"),
            "assignment_statement": _lua_assignment,
            "field": _lua_field,
            "function_definition": nameless,
        },
        through="variable_declaration",
    ),
    "perl": Row(
        {
            "package_statement": holding("module", "package", "package_name"),
            "function_definition": named("function", "sub"),
            "use_constant_statement": named("constant", "", "constant"),
        }
    ),
    "bash": Row(
        {
            "function_definition": named("function", "function"),
            "variable_assignment": named("constant"),
            "command": _bash_alias,
        },
        through="declaration_command",
        outer="command",
    ),
    "powershell": Row(
        {
            "function_statement": holding("function", "function", "function_name"),
            "class_statement": holding("type", "class", "simple_name"),
            "enum_statement": holding("type", "enum", "simple_name"),
            "class_method_definition": holding("function", "", "simple_name"),
            "assignment_expression": _powershell_assignment,
        },
        through="statement_list pipeline",
    ),
    "r": Row({"binary_operator": _r_assignment, "function_definition": nameless}),
    "julia": Row(
        {
            "module_definition": named("module", "module"),
            "struct_definition": _head("type", "struct"),
            "abstract_definition": _head("type", "abstract type"),
            "primitive_definition": _head("type", "primitive type"),
            "function_definition": _head("function", "function"),
            "macro_definition": _head("function", "macro"),
            "assignment": _julia_assignment,
        },
        through="const_statement",
    ),
    "vim": Row(
        {
            "function_definition": holding(
                "function", "function", "scoped_identifier", "identifier"
            ),
            "command_statement": named("function", "command"),
            "let_statement": holding("constant", "", "scoped_identifier", "identifier"),
        }
    ),
}
