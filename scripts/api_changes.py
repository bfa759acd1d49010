"""Is a client that was written for docs/openapi.json still served? Compares that snapshot with the server of today.

Breaking: an operation, parameter or answered field that is gone; an operation id that is another; a new demand on
requests (a required field, parameter or body, a narrower type, a tighter limit, a value of an enumeration or a member
of a union that is gone); an answer whose type is another, or a field of it that is no longer always there. Unions are
compared member by member. No break: more fields, values, members and documented errors in answers. `--check` fails on
breaks; `--write` makes today's document the snapshot, once a break is wanted.
"""

import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["REINFORGE_PLUGINS"] = "off"  # the document is about what everybody has

SNAPSHOT = Path(__file__).parent.parent / "docs" / "openapi.json"
METHODS = ("get", "post", "put", "patch", "delete")
Schema = dict[str, Any]
Key = tuple[str, str, bool]
"""Two references that have been compared, and whether in a request."""
COUNTS = ("minLength", "minItems", "minProperties")
MOST = ("maxLength", "maxItems", "maxProperties", "maximum", "exclusiveMaximum")
LEAST = (*COUNTS, "minimum", "exclusiveMinimum")


def today() -> Schema:
    from backend.main import create_app

    return create_app().openapi()


def without_examples(node: Any) -> Any:
    """The document without examples of bodies, which no comparison reads."""
    if isinstance(node, list):
        return [without_examples(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: without_examples(value)
        for key, value in node.items()
        if key != "example" or "schema" not in node
    }


def changes(old: Schema, new: Schema) -> list[str]:
    """What breaks clients of `old`."""
    return sorted(set(_Comparison(old, new).messages()))


class _Comparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self.old, self.new = old, new
        self._compared: set[Key] = set()

    def messages(self) -> Iterator[str]:
        for path, item in self.old["paths"].items():
            for method in METHODS:
                if method not in item:
                    continue
                where = f"{method.upper()} {path}"
                there = self.new["paths"].get(path, {}).get(method)
                if there is None:
                    yield f"{where}: is gone"
                else:
                    yield from self._operation(where, item[method], there)

    def _operation(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        if old.get("operationId") != new.get("operationId"):
            yield f"{where}: operationId {old.get('operationId')} is {new.get('operationId')}"
        before = {(parameter["in"], parameter["name"]): parameter for parameter in old.get("parameters", [])}
        after = {(parameter["in"], parameter["name"]): parameter for parameter in new.get("parameters", [])}
        for key in before.keys() - after.keys():
            yield f"{where}: parameter {key[1]} is gone"
        for key, parameter in after.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{where}: parameter {key[1]} is required"
            if key in before:
                yield from self._schema(
                    f"{where}: parameter {key[1]}", before[key]["schema"], parameter["schema"], True
                )
        if new.get("requestBody", {}).get("required") and not old.get("requestBody", {}).get("required"):
            yield f"{where}: request is required"
        if "requestBody" in old and "requestBody" in new:
            yield from self._bodies(f"{where}: request", old["requestBody"], new["requestBody"], True)
        for status, answer in old.get("responses", {}).items():
            if not status.startswith("2"):
                continue
            if status not in new.get("responses", {}):
                yield f"{where}: no longer answers {status}"
            else:
                yield from self._bodies(f"{where}: answer", answer, new["responses"][status], False)

    def _bodies(self, where: str, old: Schema, new: Schema, request: bool) -> Iterator[str]:
        for kind, content in old.get("content", {}).items():
            there = new.get("content", {}).get(kind)
            if there is None:
                yield f"{where}: no longer {kind}"
            else:
                yield from self._schema(where, content.get("schema", {}), there.get("schema", {}), request)

    def _schema(self, where: str, old: Schema, new: Schema, request: bool) -> Iterator[str]:
        before, after = _types(self.old, old), _types(self.new, new)
        # Requests may become wider, answers narrower.
        lost = before - after if request else after - before
        if before and after and lost:
            yield f"{where}: type {'|'.join(sorted(before))} is {'|'.join(sorted(after))}"
            return
        there = _branches(self.new, new)
        for branch in _branches(self.old, old):
            yield from self._branch(where, branch, there, request)

    def _branch(self, where: str, old: Schema, there: list[Schema], request: bool) -> Iterator[str]:
        """One shape that a value has had, with the shape that it is now."""
        same = _alike(self.old, old, self.new, there)
        if not same and request:
            yield f"{where}: no longer takes {_name(self.old, old)}"
        best: tuple[list[str], set[Key]] | None = None
        for candidate in same:
            before = set(self._compared)
            changes = list(self._one(where, old, candidate, request))
            if best is None or len(changes) < len(best[0]):
                best = (changes, self._compared)
            self._compared = before
        if best is not None:
            self._compared |= best[1]
            yield from best[0]

    def _one(self, where: str, old: Schema, new: Schema, request: bool) -> Iterator[str]:
        if "$ref" in old and "$ref" in new:
            key = (old["$ref"], new["$ref"], request)
            if (
                key in self._compared
            ):  # compared already, or just being compared further up: schemas may hold themselves
                return
            self._compared.add(key)
        old, new = _resolved(self.old, old), _resolved(self.new, new)
        if request:
            yield from _tighter(where, old, new)
        yield from self._fields(where, old, new, request)
        for key, within in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
                yield from self._schema(where + within, old[key], new[key], request)
        for place, (branch, now) in enumerate(
            zip(old.get("prefixItems", []), new.get("prefixItems", []), strict=False)
        ):
            yield from self._schema(f"{where}[{place}]", branch, now, request)

    def _fields(self, where: str, old: Schema, new: Schema, request: bool) -> Iterator[str]:
        properties = new.get("properties", {})
        for name, field in old.get("properties", {}).items():
            if name in properties:
                yield from self._schema(f"{where}.{name}", field, properties[name], request)
            elif request and new.get("additionalProperties") is not False:
                continue
            elif properties or not new.get("additionalProperties", True):
                yield f"{where}.{name}: is gone"
        before, after = set(old.get("required", [])), set(new.get("required", []))
        if request:
            yield from (f"{where}.{name}: is required" for name in after - before)
        else:
            yield from (f"{where}.{name}: is not always there" for name in (before - after) & set(properties))


def _tighter(where: str, old: Schema, new: Schema) -> Iterator[str]:
    """What a request may no longer hold. A limit that was not there before is one, too."""
    before, after = _values(old), _values(new)
    if after is not None and before is None:
        yield f"{where}: takes only {', '.join(map(str, after))}"
    gone = [str(value) for value in before or [] if after is not None and value not in after]
    if gone:
        yield f"{where}: no longer takes {', '.join(gone)}"
    for key in MOST:
        if key in new and new[key] < old.get(key, math.inf):
            yield f"{where}: {key} {old.get(key)} is {new[key]}"
    for key in LEAST:
        if key in new and new[key] > old.get(key, 0 if key in COUNTS else -math.inf):
            yield f"{where}: {key} {old.get(key)} is {new[key]}"
    for key in ("pattern", "multipleOf", "uniqueItems", "format"):
        if new.get(key) and new[key] != old.get(key):
            yield f"{where}: {key} {old.get(key)} is {new[key]}"
    if new.get("additionalProperties") is False and old.get("additionalProperties", True) is not False:
        yield f"{where}: takes no other fields"


def _resolved(document: Schema, schema: Schema) -> Schema:
    """Without references, and with what `allOf` puts together as one."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if "allOf" not in schema:
        return schema
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        for key, value in _resolved(document, part).items():
            if key == "properties":
                whole[key] = {**value, **whole.get(key, {})}
            elif key == "required":
                whole[key] = [*whole.get(key, []), *value]
            else:
                whole.setdefault(key, value)
    return whole


def _branches(document: Schema, schema: Schema) -> list[Schema]:
    """The shapes that a value may have: a union's members, however deep; one for what is no union."""
    plain = _resolved(document, schema)
    for key in ("anyOf", "oneOf"):
        if key in plain:
            return [branch for part in plain[key] for branch in _branches(document, part)]
    if isinstance(plain.get("type"), list):
        return [plain | {"type": branch} for branch in plain["type"]]
    return [schema]


def _alike(document: Schema, old: Schema, later: Schema, candidates: list[Schema]) -> list[Schema]:
    """Which of `there` may be the same shape: of the same name, else with the same tags, else of the same type."""
    if "$ref" in old and (
        named := [candidate for candidate in candidates if candidate.get("$ref") == old["$ref"]]
    ):
        return named
    tags = _tags(document, old)
    if tags and (tagged := [candidate for candidate in candidates if _tags(later, candidate) == tags]):
        return tagged
    kind = _types(document, old)
    return [
        candidate
        for candidate in candidates
        if (not kind or not (now := _types(later, candidate)) or kind & now)
        and not (tags and (others := _tags(later, candidate)) and others.keys() & tags.keys())
    ]


def _tags(document: Schema, schema: Schema) -> dict[str, str]:
    """The fields that an object tells its kind by: those with one possible value."""
    fields = _resolved(document, schema).get("properties", {})
    values = {name: _values(_resolved(document, value)) for name, value in fields.items()}
    return {name: str(value[0]) for name, value in values.items() if value is not None and len(value) == 1}


def _values(schema: Schema) -> list[Any] | None:
    """The only values possible, where they are listed."""
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _name(document: Schema, schema: Schema) -> str:
    """A union's member, for people."""
    tags = ", ".join(f"{name} {value}" for name, value in _tags(document, schema).items())
    return tags or str(schema.get("$ref", schema.get("type", "a value"))).rsplit("/", 1)[-1]


def _types(document: Schema, schema: Schema) -> set[str]:
    """What a value may be; empty where the schema leaves that open."""
    schema = _resolved(document, schema)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            parts = [_types(document, part) for part in schema[key]]
            return set().union(*parts) if all(parts) else set()
    kind = schema.get("type")
    types = set(kind) if isinstance(kind, list) else {kind} if kind else set()
    return types | {"number", "integer"} if "number" in types else types


def main() -> int:
    document = today()
    if "--write" in sys.argv:
        SNAPSHOT.write_text(
            json.dumps(without_examples(document), indent=1, ensure_ascii=False, sort_keys=True) + "\n",
            encoding="utf-8",
        )
        return 0
    problems = changes(json.loads(SNAPSHOT.read_text(encoding="utf-8")), document)
    if problems:
        print("The API breaks clients of docs/openapi.json:", *problems, sep="\n  ")
        print("If that is wanted: scripts/api_changes.py --write, and a line in CHANGELOG.md.")
        return 1
    print(f"api: {sum(len(item) for item in document['paths'].values())} operations, nothing breaks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
