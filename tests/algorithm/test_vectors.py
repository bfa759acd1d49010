"""The worked cases: every value and gradient that a case expects, to the case's tolerance.

`REINFORGE_VECTORS=/path/to/other.json` runs another file of the same schema. Cases of installed packages run beside
the bundled ones (entry points `reinforge.vectors`). A case whose slot, variant or inputs nothing here can use fails.
"""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from reinforge.algorithm.plugins import vector_files
from tests.algorithm.cases import advantages, losses, own, selection, shaping
from tests.algorithm.cases.base import Adapter, Case

BUNDLED = Path(__file__).parents[1] / "vectors" / "algorithm_vectors.json"
OTHER = os.environ.get("REINFORGE_VECTORS")
VECTORS = [Path(OTHER)] if OTHER else [BUNDLED, *vector_files()]
SLOTS: dict[int, dict[str, Adapter]] = {
    1: shaping.CASES,
    2: selection.CASES,
    3: advantages.CASES,
    4: losses.CASES,
}


def _read(path: Path) -> list[Case]:
    document = json.loads(path.read_text(encoding="utf-8"))
    envelope = '{"schema": 1, "vectors": [...]}'
    if not isinstance(document, dict):
        raise pytest.UsageError(f"{path} holds a JSON {type(document).__name__}; write {envelope}")
    if document.get("schema") != 1 or not isinstance(document.get("vectors"), list):
        raise pytest.UsageError(
            f"{path}: schema is {document.get('schema')!r} and the fields are {sorted(document)}; write {envelope}"
        )
    return list(document["vectors"])


def _loss_tensors(cases: list[Case]) -> dict[str, Any] | None:
    """The log-probabilities and mask that the `loss.*` cases of a file share, and GRPO-S's ratios refer to."""
    required = {"old_logp", "logp", "mask"}
    return next((case["inputs"] for case in cases if required <= case["inputs"].keys()), None)


def _all() -> list[Case]:
    cases = [case for path in VECTORS for case in _read(path)]
    shared = _loss_tensors(cases) or _loss_tensors(_read(BUNDLED))
    return [case | {"loss_tensors": shared} for case in cases]


ALL = _all()


def adapter_of(case: Case) -> Adapter:
    """The adapter for a case, by slot and variant; by slot and id only for a variant that no adapter names."""
    adapters = SLOTS.get(case["slot"])
    if adapters is None:
        pytest.fail(f"{case['id']}: unknown slot {case['slot']!r}; known: {sorted(SLOTS)}")
    adapter = adapters.get(case["variant"]) or adapters.get(case["id"]) or own.adapter_of(case)
    if adapter is None:
        pytest.fail(f"{case['id']}: unknown variant {case['variant']!r} in slot {case['slot']}")
    return adapter


def differences(actual: Any, expected: Any, atol: float, at: str) -> list[str]:
    """What differs between two nested values; numbers to `atol` absolute, `null` and NaN alike."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or not expected.keys() <= actual.keys():
            return [f"{at}: found {actual!r}, expected {sorted(expected)}"]
        return [
            part for key in expected for part in differences(actual[key], expected[key], atol, f"{at}.{key}")
        ]
    if isinstance(expected, list):
        if not isinstance(actual, list | tuple) or len(actual) != len(expected):
            return [f"{at}: found {actual!r}, expected {len(expected)} values"]
        pairs = enumerate(zip(actual, expected, strict=True))
        return [part for no, (a, b) in pairs for part in differences(a, b, atol, f"{at}[{no}]")]
    if isinstance(expected, str):
        return [] if actual == expected else [f"{at}: found {actual!r}, expected {expected!r}"]
    expected_number = math.nan if expected is None else float(expected)
    number = math.nan if actual is None else float(actual)
    if (
        number == expected_number
        or abs(number - expected_number) <= atol
        or (math.isnan(number) and math.isnan(expected_number))
    ):
        return []
    return [f"{at}: found {number!r}, expected {expected_number!r}, atol {atol}"]


def check(case: Case) -> None:
    outputs = adapter_of(case)(case)
    missing = case["expected"].keys() - outputs.keys()
    assert not missing, f"{case['id']}: nothing computes {sorted(missing)}"
    wrong = [
        line
        for key, value in case["expected"].items()
        for line in differences(outputs[key], value, case["atol"], key)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case["id"])
def test_vector(case: Case) -> None:
    check(case)


def test_the_file_holds_cases_and_no_id_twice() -> None:
    ids = [case["id"] for case in ALL]
    assert ids
    assert sorted(ids) == sorted(set(ids))


CASE: Case = {
    "id": "mine",
    "variant": "Dr. GRPO",
    "slot": 3,
    "inputs": {"rewards": [[1, 0]]},
    "params": {},
    "expected": {"advantages": [[0.5, -0.5]]},
    "atol": 1e-6,
}


def test_a_case_of_another_file_runs_by_its_variant() -> None:
    check(CASE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slot": 5}, "unknown slot 5"),
        ({"variant": "GRPO++"}, "unknown variant 'GRPO\\+\\+' in slot 3"),
        ({"expected": {"advantages": [[0.5, -0.4]]}}, "found -0.5, expected -0.4"),
        ({"expected": {"advantages": [[0.5]]}}, "expected 1 values"),
        ({"expected": {"advantages": [[0.5, None]]}}, "expected nan"),
        ({"expected": {"advantages": [[0.5, -0.5]], "std": 0.5}}, "nothing computes \\['std'\\]"),
    ],
)
def test_a_case_that_cannot_be_met_fails(change: dict[str, Any], message: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception), match=message):
        check(CASE | change)


def test_a_case_without_usable_inputs_fails() -> None:
    with pytest.raises(KeyError, match="rewards"):
        check(CASE | {"inputs": {"reward": [[1, 0]]}})
