"""The published JSON Schema of job files accepts what the loader accepts."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from reinforge.offline.jobfile import schema
from reinforge.presets import PRESETS

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = json.loads((ROOT / "docs/job.schema.json").read_text())
CHECK = Draft202012Validator(PUBLISHED)
MINIMAL: dict[str, Any] = {"model": "m", "data": {"dataset": "a.jsonl"}, "rewards": [{"path": "r.py"}]}


def test_it_is_a_schema_and_the_code_s() -> None:
    Draft202012Validator.check_schema(PUBLISHED)
    assert schema()["$defs"].keys() >= PUBLISHED["$defs"].keys()


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/job.yaml")), ids=lambda path: path.parent.name)
def test_the_examples_are_valid_and_name_it(path: Path) -> None:
    text = path.read_text()
    CHECK.validate(yaml.safe_load(text))
    first = text.splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("=")[2]).resolve() == ROOT / "docs/job.schema.json"


def test_what_the_loader_refuses_is_refused() -> None:
    assert CHECK.is_valid(MINIMAL)
    assert CHECK.is_valid(MINIMAL | {"algorithm": {"preset": next(iter(PRESETS))}})
    assert CHECK.is_valid(MINIMAL | {"rewards": [{"ready": "exact_answer", "weight": 0.5}]})
    for wrong in (
        {"modell": "m"},
        {"rewards": []},
        {"rewards": [{"type": "no such"}]},
        {"limits": {"steps": -1}},
        {"data": {}},
    ):
        assert not CHECK.is_valid(MINIMAL | wrong), wrong
