"""Grader types: OpenAI's JSON is taken as documented, and a mistake says what to change."""

from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.grading.declarative import score
from reinforge.grading.multi import GRADER, Multi, canonical, columns, judges
from reinforge.grading.samples import make_sample

CHECK = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
JUDGE = {
    "type": "score_model",
    "name": "judge",
    "model": "gpt-4.1",
    "input": [
        {"role": "user", "content": "Rate {{ sample.output_text }}", "type": "message"},
        {"role": "user", "content": {"type": "input_text", "text": "Reference: {{ item.reference }}"}},
    ],
    "range": [0, 10],
    "sampling_params": {"temperature": 1, "max_completions_tokens": 100, "seed": 3, "top_p": 1},
    "pass_threshold": 5,
}
LABEL = {
    "type": "label_model",
    "name": "tone",
    "model": "small",
    "input": [{"role": "developer", "content": "?"}],
    "labels": ["good", "bad"],
    "passing_labels": ["good"],
}
MULTI: dict[str, Any] = {
    "type": "multi",
    "name": "both",
    "graders": {"exact": CHECK, "judge": JUDGE},
    "calculate_output": "0.5 * exact + 0.5 * judge",
}
DOCUMENTED = [
    CHECK,
    CHECK | {"operation": "neq"},
    {k: v for k, v in CHECK.items() if k != "name"},
    CHECK
    | {"type": "text_similarity", "evaluation_metric": "bleu", "pass_threshold": 0.5}
    | {"operation": None},
    JUDGE,
    LABEL,
    {"type": "python", "name": "p", "source": "def grade(sample, item): return 1", "image_tag": "2025-05-08"},
    MULTI,
    MULTI | {"graders": [CHECK, JUDGE]},
    MULTI | {"graders": CHECK, "calculate_output": "exact"},
    {
        "type": "endpoint",
        "name": "e",
        "url": "https://example.com/grade",
        "headers": {"x-a": "b"},
        "range": [0, 1],
    },
    {"type": "classifier", "name": "c", "model": "/m", "labels": {"positive": 1.0}},
    {"type": "reward_model", "name": "r", "model": "hub:org/name@main"},
    {"type": "reference_logprob", "name": "l"},
    {"type": "ranking_judge", "name": "k", "model": "big", "criteria": "{{ item.criteria }}"},
]


@pytest.mark.parametrize("raw", DOCUMENTED, ids=lambda raw: str(raw["type"]))
def test_documented_json_is_taken_and_comes_back(raw: dict[str, Any]) -> None:
    raw = {key: value for key, value in raw.items() if value is not None}
    grader = GRADER.validate_python(raw)
    assert GRADER.validate_json(canonical(grader)) == grader


def test_a_list_of_graders_is_keyed_by_name() -> None:
    grader = GRADER.validate_python(MULTI | {"graders": [CHECK, JUDGE]})
    assert isinstance(grader, Multi)
    assert list(grader.graders) == ["exact", "judge"]
    assert columns(grader) == {"answer", "reference"}
    assert judges(grader) == {"gpt-4.1"}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (CHECK | {"extra": 1}, "extra"),
        (CHECK | {"operation": "equals"}, "'eq', 'ne', 'like' or 'ilike'"),
        (CHECK | {"input": "{{ row.x }}"}, "neither `item`"),
        ({"type": "nothing"}, "'string_check'"),
        (CHECK | {"type": "text_similarity", "evaluation_metric": "cosine"}, "embedding model"),
        (JUDGE | {"range": [1, 0]}, "not below"),
        (LABEL | {"passing_labels": ["fine"]}, "fine, which the list `labels` lacks"),
        (LABEL | {"labels": ["good", "good"]}, "the same"),
        (MULTI | {"calculate_output": "exact + other"}, "uses other, but the graders are exact, judge"),
        (MULTI | {"calculate_output": "exact +"}, "character 8"),
        (MULTI | {"graders": {"m": MULTI}}, "cannot be part of a multi grader"),
        (MULTI | {"graders": [{k: v for k, v in CHECK.items() if k != "name"}]}, "needs a `name`"),
        (MULTI | {"graders": [CHECK, CHECK]}, "share a name"),
        (MULTI | {"graders": {"my-key": CHECK}, "calculate_output": "my-key"}, "rename my-key"),
        (MULTI | {"gates": {"judge": {"part": "nope"}}}, "gates uses nope"),
        (
            MULTI | {"gates": {"judge": {"part": "exact"}, "exact": {"part": "judge"}}},
            "judge → exact → judge",
        ),
        ({"type": "endpoint", "url": "ftp://x"}, "https://"),
        ({"type": "endpoint", "url": "http://u:p@x/"}, "user and password"),
        ({"type": "endpoint", "url": "http://x:99999/"}, "https://"),
        ({"type": "endpoint", "url": "http://x", "headers": {"Host": "y"}}, "the platform sets it itself"),
        ({"type": "endpoint", "url": "http://x", "headers": {"a": "b\r\nc: d"}}, "cannot have"),
        ({"type": "ranking_judge", "model": "m", "criteria": "{{sample.output_text}}"}, "the same for all"),
    ],
)
def test_mistakes_say_what_to_change(raw: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        GRADER.validate_python(raw)
    assert says in str(caught.value)


def test_gated_parts_come_after_those_that_decide() -> None:
    raw = MULTI | {"graders": {"judge": JUDGE, "exact": CHECK}, "gates": {"judge": {"part": "exact"}}}
    grader = GRADER.validate_python(raw)
    assert isinstance(grader, Multi)
    assert grader.order == ("exact", "judge")


@pytest.mark.parametrize(
    ("operation", "text", "value"),
    [
        ("eq", "132", 1), ("eq", "132 ", 0), ("ne", "132", 0), ("ne", "131", 1), ("neq", "131", 1),
        ("like", "it is 132.", 1), ("like", "it is 13", 0), ("ilike", "STRASSE 132", 1),
    ],
)  # fmt: skip
def test_string_check(operation: str, text: str, value: float) -> None:
    grader = GRADER.validate_python(CHECK | {"operation": operation})
    assert score(grader, {"answer": "132"}, make_sample(text)) == value  # type: ignore[arg-type]


def test_like_is_case_sensitive_and_ilike_is_not() -> None:
    for operation, value in (("like", 0.0), ("ilike", 1.0)):
        grader = GRADER.validate_python(CHECK | {"operation": operation})
        assert score(grader, {"answer": "Paris"}, make_sample("in PARIS")) == value  # type: ignore[arg-type]
