"""Rewards of a job: what stands in a specification, and the grader that it is."""

from typing import Any

import pytest

from reinforge.errors import InvalidInput
from reinforge.grading.multi import GRADER
from reinforge.offline.jobfile import validate
from reinforge.reward_spec import grader_of, judges_of
from reinforge.spec import JobSpec

BASE: dict[str, Any] = {"model": "m", "data": {"dataset": "d"}}
CHECK = {
    "type": "string_check",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.a }}",
    "operation": "eq",
}
JUDGE = {"type": "score_model", "model": "j", "input": [{"content": "x"}]}
EVERY: list[dict[str, Any]] = [
    CHECK,
    CHECK | {"type": "text_similarity", "evaluation_metric": "bleu"} | {"operation": None},
    JUDGE,
    {
        "type": "label_model",
        "model": "j",
        "input": [{"content": "x"}],
        "labels": ["a", "b"],
        "passing_labels": ["a"],
    },
    {
        "type": "multi",
        "graders": {"a": CHECK, "j": JUDGE},
        "calculate_output": "a + j",
        "gates": {"j": {"part": "a"}},
    },
    {"type": "endpoint", "url": "https://x.example/"},
    {"type": "classifier", "model": "c", "labels": {"good": 1}},
    {"type": "reward_model", "model": "c"},
    {"type": "reference_logprob"},
    {"type": "ranking_judge", "model": "j"},
    {"type": "program_tests"},
]


def spec(*rewards: dict[str, Any]) -> JobSpec:
    return JobSpec.model_validate(BASE | {"rewards": list(rewards)})


@pytest.mark.parametrize("raw", EVERY, ids=lambda raw: str(raw["type"]))
def test_every_grader_may_stand_in_a_job_and_is_itself_again(raw: dict[str, Any]) -> None:
    raw = {key: value for key, value in raw.items() if value is not None}
    job = spec(raw | {"name": "mine", "weight": -2, "on_error": "pause"})
    (reward,) = job.rewards
    assert (reward.name, reward.weight, reward.on_error) == ("mine", -2.0, "pause")
    assert grader_of(reward) == GRADER.validate_python(raw | {"name": "mine"})
    assert JobSpec.model_validate(job.resolved().model_dump(mode="json")).rewards == job.rewards
    assert spec({"grader": raw}).rewards[0].type == "grader"


def test_a_reward_without_a_type_is_code_or_brings_a_grader() -> None:
    job = spec({"source": "x", "name": "a"}, {"path": "g.json", "name": "b"}, {"grader": CHECK, "name": "c"})
    assert [reward.type for reward in job.rewards] == ["python", "grader", "grader"]


def test_judges_are_named_by_graders_and_by_code() -> None:
    code = {"source": "x", "judges": {"tone": JUDGE | {"model": "other"}}}
    assert [judges_of(reward) for reward in spec(EVERY[4], code).rewards] == [{"j"}, {"other"}]


def test_a_mistake_inside_of_a_grader_is_named_as_it_is_written() -> None:
    raw = EVERY[4] | {
        "graders": {"python": CHECK | {"operation": "is"}},
        "calculate_output": "python",
        "gates": {},
    }
    with pytest.raises(InvalidInput) as caught:
        validate(BASE | {"rewards": [raw]})
    assert caught.value.param == "rewards[0].graders.python.operation"
