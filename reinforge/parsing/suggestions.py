"""What a misspelt name may have meant, and which fields a place of a JSON Schema has."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MOST_LISTED = 30
_LONGEST = 100
"""Characters of a name that may be a misspelt one of ours; comparing takes quadratic time."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like `name`; case, dashes and underscores count little."""
    if len(name) > _LONGEST:
        return None
    plain = {_plain(each): each for each in sorted(known, reverse=True)}
    wrong = _plain(name)
    longer = [each for each in plain if len(wrong) > 2 and each.startswith(wrong)]  # "ppo" for "ppo_clip"
    found = sorted(longer, key=len) or difflib.get_close_matches(wrong, plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A sentence: the nearest name, else all of them if they are few; None otherwise."""
    names = sorted(set(known))
    if near := nearest(name, names):
        return f"Did you mean {near}?"
    return f"Known: {', '.join(names)}." if 0 < len(names) <= _MOST_LISTED else None


def fields_at(schema: Mapping[str, Any], location: Sequence[str | int]) -> list[str]:
    """Names of the fields at pydantic's location, whose parts may be tags of unions; [] where that is unknown."""
    places = [schema]
    for part in location:
        places = [inner for place in places for inner in _step(schema, place, part)]
    return sorted(
        {name for place in places for each in _members(schema, place) for name in _properties(each)}
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _members(root: Mapping[str, Any], place: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The place itself without references, and every member of a union."""
    if "$ref" in place:
        return _members(root, _referenced(root, place["$ref"]))
    unions = [each for key in ("anyOf", "oneOf", "allOf") for each in place.get(key, [])]
    return [place, *(inner for each in unions for inner in _members(root, each))]


def _step(root: Mapping[str, Any], place: Mapping[str, Any], part: str | int) -> list[Mapping[str, Any]]:
    found = []
    for each in _members(root, place):
        if isinstance(part, int):
            found += [each["items"]] if isinstance(each.get("items"), Mapping) else []
        elif part in _properties(each):
            found.append(each["properties"][part])
        elif reference := each.get("discriminator", {}).get("mapping", {}).get(part):
            found.append(_referenced(root, reference))
        elif isinstance(each.get("additionalProperties"), Mapping):
            found.append(each["additionalProperties"])
    return found


def _properties(place: Mapping[str, Any]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = place.get("properties", {})
    return properties


def _referenced(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
    return found
