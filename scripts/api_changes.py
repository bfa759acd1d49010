"""Is a client that was written for docs/openapi.json still served? Compares that snapshot with the server of today.

Breaking: an operation, parameter or answered field that is gone; an operation id that is another; a new demand on
requests (a required field or parameter, a narrower type, a value of an enumeration that is gone); an answer whose type
is another. `--check` fails on those; `--write` makes today's document the snapshot, once a break is wanted.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["REINFORGE_PLUGINS"] = "off"  # the document is about what everybody has

SNAPSHOT = Path(__file__).parent.parent / "docs" / "openapi.json"
METHODS = ("get", "post", "put", "patch", "delete")
Schema = dict[str, Any]


def today() -> Schema:
    from backend.main import create_app

    return create_app().openapi()


def changes(old: Schema, new: Schema) -> list[str]:
    """What breaks clients of `old`."""
    return sorted(set(_Comparison(old, new).found()))


class _Comparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self.old, self.new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def found(self) -> Iterator[str]:
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
        before = {(each["in"], each["name"]): each for each in old.get("parameters", [])}
        after = {(each["in"], each["name"]): each for each in new.get("parameters", [])}
        for key in before.keys() - after.keys():
            yield f"{where}: parameter {key[1]} is gone"
        for key, each in after.items():
            if each.get("required") and not before.get(key, {}).get("required"):
                yield f"{where}: parameter {key[1]} is required"
            if key in before:
                yield from self._schema(
                    f"{where}: parameter {key[1]}", before[key]["schema"], each["schema"], True
                )
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
        if "$ref" in old and "$ref" in new:
            key = (old["$ref"], new["$ref"], request)
            if key in self._seen:
                return
            self._seen.add(key)
        old, new = _resolved(self.old, old), _resolved(self.new, new)
        before, after = _types(self.old, old), _types(self.new, new)
        # Requests may become wider, answers narrower.
        lost = before - after if request else after - before
        if before and after and lost:
            yield f"{where}: type {'|'.join(sorted(before))} is {'|'.join(sorted(after))}"
            return
        if request and "enum" in old and "enum" in new:
            gone = [str(value) for value in old["enum"] if value not in new["enum"]]
            if gone:
                yield f"{where}: no longer takes {', '.join(gone)}"
        properties = new.get("properties", {})
        for name, each in old.get("properties", {}).items():
            if name in properties:
                yield from self._schema(f"{where}.{name}", each, properties[name], request)
            elif request and new.get("additionalProperties") is not False:
                continue
            elif properties or not new.get("additionalProperties", True):
                yield f"{where}.{name}: is gone"
        if request:
            for name in set(new.get("required", [])) - set(old.get("required", [])):
                yield f"{where}.{name}: is required"
        if "items" in old and "items" in new:
            yield from self._schema(f"{where}[]", old["items"], new["items"], request)


def _resolved(document: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def _types(document: Schema, schema: Schema) -> set[str]:
    """What a value may be; empty where the schema leaves that open."""
    for key in ("anyOf", "oneOf"):
        if key in schema:
            parts = [_types(document, _resolved(document, part)) for part in schema[key]]
            return set().union(*parts) if all(parts) else set()
    kind = schema.get("type")
    found = set(kind) if isinstance(kind, list) else {kind} if kind else set()
    return found | {"number", "integer"} if "number" in found else found


def main() -> int:
    document = today()
    if "--write" in sys.argv:
        SNAPSHOT.write_text(
            json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
        )
        return 0
    found = changes(json.loads(SNAPSHOT.read_text(encoding="utf-8")), document)
    if found:
        print("The API breaks clients of docs/openapi.json:", *found, sep="\n  ")
        print("If that is wanted: scripts/api_changes.py --write, and a line in CHANGELOG.md.")
        return 1
    print(f"api: {sum(len(item) for item in document['paths'].values())} operations, nothing breaks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
