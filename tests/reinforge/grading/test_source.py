"""Invalid graders: every mistake is reported with its field."""

import json
from typing import Any

import pytest

from reinforge.errors import InvalidInput
from reinforge.grading.source import parse_grader

CHECK = {"type": "string_check", "input": "x", "reference": "x", "operation": "eq"}
JUDGE = {"type": "score_model", "model": "j", "input": [{"role": "user", "content": "Rate it"}]}


def multi(**changes: Any) -> dict[str, Any]:
    return {"type": "multi", "graders": {"exact": CHECK}, "calculate_output": "exact"} | changes


@pytest.mark.parametrize(
    ("grader", "fields"),
    [
        pytest.param({"type": "string_check"}, ["input", "reference", "operation"], id="missing"),
        pytest.param(CHECK | {"references": "x"}, ["references"], id="unknown key"),
        pytest.param(CHECK | {"input": "{{ item"}, ["input"], id="template"),
        pytest.param(JUDGE | {"sampling_params": {"top_p": 0}}, ["sampling_params.top_p"], id="nested"),
        pytest.param(JUDGE | {"range": [1, 0]}, ["range"], id="both numbers"),
        pytest.param(
            JUDGE | {"input": [*JUDGE["input"], {"role": "me", "content": "x"}]},
            ["input[1].role"],
            id="item of a list",
        ),
        pytest.param(
            multi(graders={"string_check": CHECK | {"operation": "is"}}, calculate_output="string_check"),
            ["graders.string_check.operation"],
            id="part that is called like its type",
        ),
        pytest.param(multi(graders={"exact": {"type": "exact"}}), ["graders.exact"], id="type of a part"),
        pytest.param(multi(calculate_output="exact +"), ["calculate_output"], id="formula"),
        pytest.param(multi(calculate_output="exakt"), ["calculate_output"], id="formula's names"),
        pytest.param(multi(gates={"exact": {"part": "no"}}), ["gates"], id="gate's names"),
        pytest.param({"type": "exact"}, [""], id="type"),
    ],
)
def test_every_mistake_names_its_field(grader: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_grader(json.dumps(grader), "source")
    assert [error["field"] for error in refused.value.errors] == fields
    assert {error["param"] for error in refused.value.errors} == {"source"}


def test_the_message_says_the_first_and_how_many_more() -> None:
    with pytest.raises(InvalidInput, match=r"input: Field required \(and 2 more\)"):
        parse_grader('{"type": "string_check"}')
    with pytest.raises(InvalidInput, match=r"not valid\. calculate_output uses no, but"):
        parse_grader(json.dumps(multi(calculate_output="no")))
