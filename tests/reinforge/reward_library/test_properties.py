"""Properties of ready rewards for random numbers, texts, boxes and lists of calls."""

import json
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from reinforge.reward_library.cases import CaseRow
from tests.reinforge.reward_library.conftest import Scorer

fewer = settings(max_examples=12, deadline=None)
numbers = st.lists(st.integers(-(10**15), 10**15), min_size=4, max_size=8)


Answers = list[tuple[dict[str, object], str]]
"""Rows with what stands in the tags."""


def answers(scored: Scorer, id: str, completions: Answers) -> list[float | None]:
    results = scored(id, [(CaseRow(item=item), f"<answer>{text}</answer>") for item, text in completions])
    assert all(result.status == "ok" for result in results), [result.message for result in results]
    return [result.value for result in results]


def spellings(number: int) -> list[str]:
    return [
        str(number), f"{number:,}", f"{number}.0", f" {number:,}.000 ", f"{Decimal(number):e}", f"{number * 7}/7",
        str(number).replace("-", "−"), f"{number * 100}%",
    ]  # fmt: skip


@fewer
@given(numbers)
def test_a_number_is_right_however_it_is_written(scored: Scorer, drawn: list[int]) -> None:
    completions: Answers = [({"answer": str(number)}, text) for number in drawn for text in spellings(number)]
    assert set(answers(scored, "numeric", completions)) == {1.0}
    plain = [(item, text) for item, text in completions if "e" not in text and "−" not in text]
    assert set(answers(scored, "math_equal", plain)) == {1.0}


@fewer
@given(numbers, st.integers(0, 15), st.integers(1, 9))
def test_a_number_with_another_digit_is_wrong(scored: Scorer, drawn: list[int], place: int, by: int) -> None:
    completions: Answers = []
    for number in drawn:
        digits = list(str(abs(number)))
        digits[place % len(digits)] = str((int(digits[place % len(digits)]) + by) % 10)
        other = int("".join(digits)) * (-1 if number < 0 else 1)
        completions += [({"answer": number}, text) for text in spellings(other)[:4] if other != number]
    for id in ("numeric", "math_equal"):
        assert set(answers(scored, id, completions)) <= {0.0}


@fewer
@given(st.text(min_size=1, max_size=60))
def test_what_stands_in_the_tags_is_all_that_counts(scored: Scorer, text: str) -> None:
    inside = "".join(c for c in text if c not in "<>" and not 0xD800 <= ord(c) < 0xE000).strip()
    if not inside.split():
        return  # a row without an answer
    values = answers(scored, "exact_answer", [({"answer": inside}, text) for text in (inside, f"{inside}!x")])
    assert values == [1.0, 0.0]


@fewer
@given(
    st.lists(
        st.tuples(*[st.integers(0, 200)] * 2, *[st.integers(1, 200)] * 2), min_size=1, max_size=6, unique=True
    )
)
def test_boxes_are_their_own_best_cover(scored: Scorer, drawn: list[tuple[int, int, int, int]]) -> None:
    boxes = [[x, y, x + width, y + height] for x, y, width, height in drawn]
    box_lists = (boxes, boxes[::-1], boxes[1:], [*boxes, [0, 0, 1000, 1000]])
    own, turned, fewer_boxes, more = answers(
        scored, "boxes_iou", [({"boxes": boxes}, json.dumps(box_list)) for box_list in box_lists]
    )
    assert own == turned == 1.0
    assert fewer_boxes is not None and more is not None and fewer_boxes < 1.0 and more < 1.0


@fewer
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_longer_never_pays(scored: Scorer, one: int, other: int) -> None:
    rows = [(CaseRow(item={}), "word " * (20 + length)) for length in sorted((one, other))]
    for id in ("length_linear", "length_overlong"):
        short, long = (result.value for result in scored(id, rows))
        assert short is not None and long is not None and short >= long


@fewer
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=4, unique=True), st.integers(1, 4))
def test_a_call_more_or_less_takes_from_the_score(scored: Scorer, drawn: list[int], extra: int) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    item = {
        "tools": [{"name": "square", "parameters": schema}],
        "expected_calls": [{"name": "square", "arguments": {"n": n}} for n in drawn],
    }

    def text(values: list[int]) -> str:
        return "".join(
            f"<tool_call>{json.dumps({'name': 'square', 'arguments': {'n': n}})}</tool_call>" for n in values
        )

    call_lists = [drawn, drawn[::-1], drawn + [1000 + n for n in range(extra)], [*drawn[1:], 1000]]
    values = [
        result.value
        for result in scored("tool_call", [(CaseRow(item=item), text(calls)) for calls in call_lists])
    ]
    assert values[:2] == [1.0, 1.0]
    assert values[2] == len(drawn) / (len(drawn) + extra)
    assert values[3] == (len(drawn) - 1) / len(drawn)
