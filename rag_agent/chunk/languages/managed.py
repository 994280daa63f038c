"""Languages of virtual machines and application platforms, from Java to Solidity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_agent.chunk.definitions import (
    Found,
    Row,
    Text,
    all_named,
    first_of,
    fixed,
    found,
    holding,
    keyword_of,
    named,
    nameless,
    several,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _java_fields(node: Node, text: Text) -> Found | None:
    declarators = node.children_by_field_name("declarator")
    return several(
        "constant", (text(declarator.child_by_field_name("name")) for declarator in declarators)
    )


def _csharp_fields(node: Node, text: Text) -> Found | None:
    declaration = next((c for c in node.named_children if c.type == "variable_declaration"), None)
    declarators = declaration.named_children if declaration else []
    return several(
        "constant",
        (text(d.child_by_field_name("name")) for d in declarators if "declarator" in d.type),
    )


def _csharp_operator(node: Node, text: Text) -> Found | None:
    operator = text(node.child_by_field_name("operator"))
    return Found("function", f"operator {operator}", (f"operator{operator}",))


def _kotlin_class(node: Node, text: Text) -> Found | None:
    word = keyword_of(node, "class", "interface")
    return found("type", word, text(node.child_by_field_name("name")))


def _kotlin_function(node: Node, text: Text) -> Found | None:
    """``fun String.ext()`` is shown with its receiver."""
    name = node.child_by_field_name("name")
    receiver = node.named_children
    previous = name.prev_sibling if name else None
    extended = previous is not None and previous.type == "." and previous.prev_sibling is not None
    shown = text(name)
    if extended and receiver and previous is not None:
        shown = f"{text(previous.prev_sibling)}.{shown}"
    return found("function", "fun", shown)


def _kotlin_property(node: Node, text: Text) -> Found | None:
    declaration = next((c for c in node.named_children if c.type == "variable_declaration"), None)
    identifier = declaration.named_children if declaration else []
    return found("constant", "val", text(identifier[0])) if identifier else None


def _kotlin_companion(node: Node, text: Text) -> Found | None:
    name = text(node.child_by_field_name("name")) or "Companion"
    return Found("type", "companion object", (name,))


def _swift_type(node: Node, text: Text) -> Found | None:
    word = text(node.child_by_field_name("declaration_kind")) or "class"
    kind = "implementation" if word == "extension" else "type"
    return found(kind, word, text(node.child_by_field_name("name")))  # type: ignore[arg-type]


def _scala_values(node: Node, text: Text) -> Found | None:
    pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
    return several("constant", iter((text(pattern),)))


def _dart_method(node: Node, text: Text) -> Found | None:
    """The body of a method follows its signature, whatever kind of signature it is."""
    signature = node.named_children[0] if node.named_children else None
    name = signature and (
        signature.child_by_field_name("name") or first_of(signature, "identifier", "operator")
    )
    return found("function", "", text(name))


def _dart_identifiers(node: Node, text: Text) -> Found | None:
    names = (
        text(child.child_by_field_name("name") or (child.named_children or [child])[0])
        for child in node.named_children
    )
    return several("constant", names)


ROWS: Mapping[str, Row] = {
    "java": Row(
        {
            "class_declaration": named("type", "class"),
            "interface_declaration": named("type", "interface"),
            "enum_declaration": named("type", "enum"),
            "record_declaration": named("type", "record"),
            "annotation_type_declaration": named("type", "@interface"),
            "method_declaration": named("function"),
            "constructor_declaration": named("function"),
            "compact_constructor_declaration": named("function"),
            "annotation_type_element_declaration": named("function"),
            "field_declaration": _java_fields,
            "constant_declaration": _java_fields,
            "enum_constant": named("constant"),
            "lambda_expression": nameless,
        }
    ),
    "csharp": Row(
        {
            "class_declaration": named("type", "class"),
            "interface_declaration": named("type", "interface"),
            "struct_declaration": named("type", "struct"),
            "enum_declaration": named("type", "enum"),
            "record_declaration": named("type", "record"),
            "delegate_declaration": named("type", "delegate"),
            "method_declaration": named("function"),
            "constructor_declaration": named("function"),
            "destructor_declaration": named("function", "~"),
            "operator_declaration": _csharp_operator,
            "indexer_declaration": fixed("function", "this[]"),
            "local_function_statement": named("function"),
            "property_declaration": named("constant"),
            "event_declaration": named("constant", "event"),
            "event_field_declaration": _csharp_fields,
            "field_declaration": _csharp_fields,
            "enum_member_declaration": named("constant"),
            "lambda_expression": nameless,
        }
    ),
    "kotlin": Row(
        {
            "class_declaration": _kotlin_class,
            "object_declaration": named("type", "object"),
            "companion_object": _kotlin_companion,
            "type_alias": named("type", "typealias", "type"),
            "function_declaration": _kotlin_function,
            "secondary_constructor": fixed("function", "constructor"),
            "property_declaration": _kotlin_property,
            "enum_entry": holding("constant", "", "identifier", "simple_identifier"),
            "anonymous_initializer": nameless,
            "lambda_literal": nameless,
        },
        leading="annotation file_annotation",
    ),
    "scala": Row(
        {
            "class_definition": named("type", "class"),
            "trait_definition": named("type", "trait"),
            "object_definition": named("type", "object"),
            "package_object": named("module", "package object"),
            "enum_definition": named("type", "enum"),
            "type_definition": named("type", "type"),
            "function_definition": named("function", "def"),
            "function_declaration": named("function", "def"),
            "given_definition": named("constant", "given"),
            "val_definition": _scala_values,
            "var_definition": _scala_values,
            "val_declaration": _scala_values,
            "simple_enum_case": named("constant"),
            "full_enum_case": named("constant"),
        },
        through="enum_case_definitions extension_definition",
        leading="annotation",
    ),
    "swift": Row(
        {
            "class_declaration": _swift_type,
            "protocol_declaration": named("type", "protocol"),
            "typealias_declaration": named("type", "typealias"),
            "associatedtype_declaration": named("type", "associatedtype"),
            "function_declaration": named("function", "func"),
            "protocol_function_declaration": named("function", "func"),
            "init_declaration": fixed("function", "init"),
            "deinit_declaration": fixed("function", "deinit"),
            "subscript_declaration": fixed("function", "subscript"),
            "property_declaration": holding("constant", "var", "simple_identifier"),
            "protocol_property_declaration": holding("constant", "var", "simple_identifier"),
            "enum_entry": all_named("constant"),
            "macro_declaration": named("function", "macro"),
            "lambda_literal": nameless,
        },
        leading="attribute directive",
    ),
    "dart": Row(
        {
            "class_definition": named("type", "class"),
            "mixin_declaration": holding("type", "mixin", "identifier"),
            "enum_declaration": named("type", "enum"),
            "extension_declaration": named("implementation", "extension"),
            "extension_type_declaration": named("type", "extension type"),
            "type_alias": holding("type", "typedef", "type_identifier"),
            "method_signature": _dart_method,
            "function_signature": named("function"),
            "getter_signature": named("function", "get"),
            "setter_signature": named("function", "set"),
            "constructor_signature": named("function"),
            "factory_constructor_signature": holding("function", "factory", "identifier"),
            "constant_constructor_signature": holding("function", "const", "identifier"),
            "static_final_declaration_list": _dart_identifiers,
            "initialized_identifier_list": _dart_identifiers,
            "enum_constant": named("constant"),
        },
        through="declaration",
        leading="annotation inferred_type const_builtin final_builtin",
        tail="function_body",
    ),
    "groovy": Row(
        {
            "class_definition": named("type", "class"),
            "function_definition": named("function", "def", "function"),
            "function_declaration": named("function", "def", "function"),
        },
        leading="annotation",
    ),
    "solidity": Row(
        {
            "contract_declaration": named("type", "contract"),
            "library_declaration": named("type", "library"),
            "interface_declaration": named("type", "interface"),
            "struct_declaration": named("type", "struct"),
            "enum_declaration": named("type", "enum"),
            "user_defined_type_definition": named("type", "type"),
            "function_definition": named("function", "function"),
            "constructor_definition": fixed("function", "constructor"),
            "modifier_definition": named("function", "modifier"),
            "event_definition": named("constant", "event"),
            "error_declaration": named("constant", "error"),
            "state_variable_declaration": named("constant"),
            "constant_variable_declaration": named("constant"),
        }
    ),
}
