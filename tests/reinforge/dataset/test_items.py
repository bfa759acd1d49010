"""The item that a reward receives: the row, with `answer` from the declared column."""

from pathlib import Path
from typing import Any

import pytest

from reinforge.dataset import ColumnRoles, item_columns, item_of, iter_prompts, shadowed_answer

ANSWERS = ColumnRoles(prompt="question", answer="result")


@pytest.mark.parametrize(
    ("row", "roles", "item"),
    [
        ({"question": "1+1", "result": "2"}, ANSWERS, {"question": "1+1", "result": "2", "answer": "2"}),
        ({"prompt": "1+1", "answer": "2"}, ColumnRoles(), {"prompt": "1+1", "answer": "2"}),
        ({"prompt": "1+1", "answer": "2"}, ColumnRoles(answer="answer"), {"prompt": "1+1", "answer": "2"}),
        ({"result": "2", "answer": "long"}, ANSWERS, {"result": "2", "answer": "2"}),
        ({"result": None, "answer": "long"}, ANSWERS, {"result": None, "answer": None}),
        ({"question": "1+1", "answer": "long"}, ANSWERS, {"question": "1+1"}),
    ],
    ids=["other name", "nothing declared", "its own name", "another answer beside it", "null", "a row without it"],
)  # fmt: skip
def test_the_declared_column_fills_answer(
    row: dict[str, Any], roles: ColumnRoles, item: dict[str, Any]
) -> None:
    before = dict(row)
    assert item_of(row, roles) == item
    assert item_of(item, roles) == item, "an item that was stored is made an item again"
    assert item_of(row, roles.model_dump()) == item, "a job's specification holds plain values"
    assert row == before


def test_the_columns_of_an_item() -> None:
    assert item_columns(["question", "result"], ANSWERS) == ["question", "result", "answer"]
    assert item_columns(["result", "answer"], ANSWERS) == ["result", "answer"]
    assert item_columns(["question"], ANSWERS) == ["question"]
    assert item_columns(["question", "result"], None) == ["question", "result"]


def test_an_answer_column_that_can_no_longer_be_read_is_worth_a_note() -> None:
    note = shadowed_answer(["question", "result", "answer"], ANSWERS)
    assert note is not None and '"result"' in note
    assert shadowed_answer(["question", "result"], ANSWERS) is None
    assert shadowed_answer(["question", "answer"], ColumnRoles(answer="answer")) is None


def test_prompt_rows_carry_items(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "1+1", "result": 2}\n')
    [row] = iter_prompts(path, roles=ANSWERS)
    assert row.item == {"question": "1+1", "result": 2, "answer": 2}
