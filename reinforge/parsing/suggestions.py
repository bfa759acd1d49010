"""Suggestions for misspelt names, and the fields at a location of a JSON Schema."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MOST_LISTED = 30
_LONGEST = 100
"""Longest name compared, since comparing takes quadratic time."""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of `names`, ignoring case, dashes and underscores; None if none is similar."""
    if len(name) > _LONGEST:
        return None
    plain = {_plain(candidate): candidate for candidate in sorted(names, reverse=True)}
    wrong = _plain(name)
    longer = [
        candidate for candidate in plain if len(wrong) > 2 and candidate.startswith(wrong)
    ]  # "ppo" for "ppo_clip"
    matches = sorted(longer, key=len) or difflib.get_close_matches(wrong, plain, n=1, cutoff=0.6)
    return plain[matches[0]] if matches else None


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    names = sorted(set(names))
    if near := nearest(name, names):
        return f"Did you mean {near}?"
    return f"Known: {', '.join(names)}." if 0 < len(names) <= _MOST_LISTED else None


def fields_at(schema: Mapping[str, Any], location: Sequence[str | int]) -> list[str]:
    """Names of the fields at a pydantic error's location, which may contain tags of unions; [] if unknown."""
    places = [schema]
    for part in location:
        places = [inner for place in places for inner in _step(schema, place, part)]
    return sorted(
        {name for place in places for member in _members(schema, place) for name in _properties(member)}
    )


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _members(root: Mapping[str, Any], place: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "$ref" in place:
        return _members(root, _referenced(root, place["$ref"]))
    unions = [member for key in ("anyOf", "oneOf", "allOf") for member in place.get(key, [])]
    return [place, *(inner for member in unions for inner in _members(root, member))]


def _step(root: Mapping[str, Any], place: Mapping[str, Any], part: str | int) -> list[Mapping[str, Any]]:
    schemas = []
    for member in _members(root, place):
        if isinstance(part, int):
            schemas += [member["items"]] if isinstance(member.get("items"), Mapping) else []
        elif part in _properties(member):
            schemas.append(member["properties"][part])
        elif reference := member.get("discriminator", {}).get("mapping", {}).get(part):
            schemas.append(_referenced(root, reference))
        elif isinstance(member.get("additionalProperties"), Mapping):
            schemas.append(member["additionalProperties"])
    return schemas


def _properties(place: Mapping[str, Any]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = place.get("properties", {})
    return properties


def _referenced(root: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    definition: Mapping[str, Any] = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
    return definition
