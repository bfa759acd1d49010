"""JSON Schemas of type hints."""

import ast
from typing import Any

_PLAIN = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": "array"},
    "List": {"type": "array"},
    "dict": {"type": "object"},
    "Dict": {"type": "object"},
    "None": {"type": "null"},
    "Any": {},
}
_DEEPEST = 16


class UnsupportedHint(Exception):
    def __init__(self, node: ast.expr) -> None:
        try:
            self.hint = ast.unparse(node)[:100]
        except RecursionError:
            self.hint = "nested too deeply"
        super().__init__(self.hint)


def schema_of_hint(node: ast.expr, depth: int = 0) -> dict[str, Any]:
    """JSON Schema of a type hint, which may be quoted. Raises UnsupportedHint."""
    if depth > _DEEPEST:
        raise UnsupportedHint(node)
    if isinstance(node, ast.Constant):
        return _of_constant(node, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([schema_of_hint(member, depth + 1) for member in (node.left, node.right)])
    if isinstance(node, ast.Subscript):
        return _of_subscript(node, depth)
    name = _name(node)
    if name not in _PLAIN:
        raise UnsupportedHint(node)
    return dict(_PLAIN[name])


def _of_constant(node: ast.Constant, depth: int) -> dict[str, Any]:
    if node.value is None:
        return dict(_PLAIN["None"])
    if not isinstance(node.value, str):
        raise UnsupportedHint(node)
    try:
        quoted = ast.parse(node.value, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UnsupportedHint(node) from None
    for inner in ast.walk(quoted):
        ast.copy_location(inner, node)
    return schema_of_hint(quoted, depth + 1)


def _of_subscript(node: ast.Subscript, depth: int) -> dict[str, Any]:
    name = _name(node.value)
    members = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in ("list", "List") and len(members) == 1:
        return {"type": "array", "items": schema_of_hint(members[0], depth + 1)}
    if name in ("dict", "Dict") and len(members) == 2 and _name(members[0]) == "str":
        return {"type": "object", "additionalProperties": schema_of_hint(members[1], depth + 1)}
    if name == "Optional" and len(members) == 1:
        return _union([schema_of_hint(members[0], depth + 1), dict(_PLAIN["None"])])
    if name == "Union":
        return _union([schema_of_hint(member, depth + 1) for member in members])
    if name == "Literal":
        return _literal(node, members)
    if name == "Annotated":
        schema = schema_of_hint(members[0], depth + 1)
        texts = [m.value for m in members[1:] if isinstance(m, ast.Constant) and isinstance(m.value, str)]
        return {**schema, "description": texts[0]} if texts else schema
    raise UnsupportedHint(node)


def _literal(node: ast.Subscript, members: list[ast.expr]) -> dict[str, Any]:
    values = [member.value if isinstance(member, ast.Constant) else ... for member in members]
    if not all(value is None or isinstance(value, str | int | bool) for value in values):
        raise UnsupportedHint(node)
    kinds = {type(value) for value in values}
    names = {str: "string", int: "integer", bool: "boolean"}
    kind = names.get(kinds.pop()) if len(kinds) == 1 else None
    return {"type": kind, "enum": values} if kind else {"enum": values}


def _union(members: list[dict[str, Any]]) -> dict[str, Any]:
    flat = [
        inner for member in members for inner in (member["anyOf"] if set(member) == {"anyOf"} else [member])
    ]
    distinct = [member for i, member in enumerate(flat) if member not in flat[:i]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _name(node: ast.expr) -> str:
    """Last part of a dotted name: `typing.Literal` is Literal."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
