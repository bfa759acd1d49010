"""Groups of jobs: by the value of a setting, or by all but seeds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reinforge.comparison.settings import IGNORED, differences, leaves

SEEDS = "seeds"
LONGEST_VALUE = 40
PRESET = "algorithm.preset"
MOST_DIFFERENCES = 20


@dataclass(frozen=True, slots=True)
class JobGroup:
    label: str
    value: Any
    members: list[int]


def job_groups(specs: Sequence[Mapping[str, Any]], by: str) -> list[JobGroup]:
    """Group jobs by a setting's path or `SEEDS`, in order of first jobs. Raises KeyError if no job has it."""
    values: list[Any]
    if by == SEEDS:
        values = [_without_seeds(spec) for spec in specs]
    else:
        present = [value_at(spec, by) for spec in specs]
        if not any(exists for exists, _ in present):
            raise KeyError(by)
        values = [value for _, value in present]
    members: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        members.setdefault(json.dumps(value, sort_keys=True), []).append(place)
    firsts = [places[0] for places in members.values()]
    if by == SEEDS:
        labels = _labels_of_differences([values[first] for first in firsts])
    else:
        labels = [f"{by.split('.')[-1]} {value_text(values[first])}" for first in firsts]
    return [
        JobGroup(label, None if by == SEEDS else values[places[0]], places)
        for label, places in zip(_unique(labels), members.values(), strict=True)
    ]


def value_at(spec: Mapping[str, Any], path: str) -> tuple[bool, Any]:
    flat = dict(leaves("", spec))
    if path in flat:
        return True, flat[path]
    inner = {key.removeprefix(f"{path}."): value for key, value in flat.items() if key.startswith(f"{path}.")}
    return bool(inner), inner or None


def value_text(value: Any) -> str:
    text = (
        "not set"
        if value is None
        else value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _without_seeds(spec: Mapping[str, Any]) -> dict[str, Any]:
    compared = {key: value for key, value in spec.items() if key not in IGNORED}
    return {path: value for path, value in leaves("", compared) if path.split(".")[-1] != "seed"}


def _labels_of_differences(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Labels of settings that differ: a preset first, then only as many as make the labels unique."""
    if len(settings) == 1:
        return ["All jobs"]
    rows = differences(settings)
    parts: list[list[str]] = [[] for _ in settings]
    labels: list[str] = []
    for path in sorted(rows, key=lambda path: path != PRESET)[:MOST_DIFFERENCES]:
        before = len(set(labels))
        candidates = [
            [*part, f"{path.split('.')[-1]} {value_text(value)}"]
            for part, value in zip(parts, rows[path], strict=True)
        ]
        if len({", ".join(part) for part in candidates}) > before:
            parts, labels = candidates, [", ".join(part) for part in candidates]
        if len(set(labels)) == len(settings):
            break
    return labels


def _unique(labels: Sequence[str]) -> list[str]:
    return [
        label if label not in labels[:place] else f"{label} ({labels[:place].count(label) + 1})"
        for place, label in enumerate(labels)
    ]
