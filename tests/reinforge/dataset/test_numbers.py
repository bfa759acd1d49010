"""Numbers of CSV, outliers among numbers, and guessed columns."""

import json
from pathlib import Path
from typing import Any

import pytest

from reinforge.dataset import ColumnRoles, inspect, iter_prompts, iter_rows, number_columns, suggest_columns
from reinforge.dataset.numbers import number_of


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("125", 125), ("-3", -3), ("0", 0), ("0.5", 0.5), ("-2.25", -2.25), ("123456789012345", 123456789012345),
        ("007", None), ("-0", None), ("1.50", None), ("1e5", None), ("1234567890123456", None), ("", None),
        (" 1", None), ("1\n", None), ("1,000", None), ("٣", None), ("nan", None), ("+1", None),
    ],
)  # fmt: skip
def test_a_text_is_a_number_only_if_nothing_changes(text: str, number: float | None) -> None:
    assert number_of(text) == number
    assert number is None or (json.dumps(number_of(text)) == text and type(number_of(text)) is type(number))


CSV = (
    "prompt,total,id,price,mixed,gap,long\n"
    "1,125,007,1.5,1,1,12345678901234567\n"
    "2,68,010,2,b,,12345678901234568\n"
    "3,-1,100,0.25,3,3,3\n"
)


def test_columns_of_numbers_become_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    report = inspect(path)
    columns = [column.model_dump() for column in report.columns]
    assert {column["name"]: column["type"] for column in columns} == {
        "prompt": "string", "total": "integer", "id": "string", "price": "number", "mixed": "string",
        "gap": "string", "long": "string",
    }  # fmt: skip
    numbers = number_columns("csv", columns)
    assert numbers == ["total", "price"]
    first: dict[str, Any] = {
        "prompt": "1", "total": 125, "id": "007", "price": 1.5, "mixed": "1", "gap": "1",
        "long": "12345678901234567",
    }  # fmt: skip
    assert report.preview[0] == first
    assert next(iter_rows(path, numbers=numbers)) == first
    assert next(iter_rows(path))["total"] == "125"
    # A prompt is always text, whatever its column.
    row = next(iter_prompts(path, roles=ColumnRoles(prompt="total", answer="price"), numbers=numbers))
    assert (row.messages[0]["content"], row.item["answer"], row.item["total"]) == ("125", 1.5, 125)


def test_other_formats_keep_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "a", "answer": "2"}\n')
    assert inspect(path).columns[1].type == "string"


def outliers(path: Path) -> list[str]:
    return [warning.message for warning in inspect(path).warnings if warning.code == "not_a_number"]


def test_a_word_among_numbers_gives_a_warning_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{n}+1,{n + 1}" for n in range(60)]
    rows[37] = "67+1,sixty-eight"
    rows[50] = "50+1,"
    path.write_text("\n".join(["question,total", *rows]))
    assert outliers(path) == [
        '58 of 60 values of "total" are numbers; these are not: "sixty-eight" on line 39, nothing on line 52.'
    ]
    path.write_text("\n".join(["question,total", *rows[:40], *["a,b"] * 20]))
    assert outliers(path) == []


@pytest.mark.parametrize(
    ("row", "prompt", "answer"),
    [
        ({"question": "1+1?", "total": 2}, "question", "total"),
        ({"instruction": "Add.", "input": "1 1", "output": "2"}, "instruction", "output"),
        ({"id": 1, "Question": "1+1?", "Label": "2"}, "Question", "Label"),
        ({"prompt": "1+1?", "target": 2}, None, "target"),
        ({"prompt": "1+1?", "answer": 2}, None, None),
        ({"text": "How much is one and one?", "n": 2}, "text", "n"),
        ({"a": "left", "b": "right"}, None, None),
        ({"solution": "A long text that explains why", "task": "1+1?"}, "task", "solution"),
    ],
)
def test_columns_are_guessed_by_name_then_by_content(
    tmp_path: Path, row: dict[str, Any], prompt: str | None, answer: str | None
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n")
    report = inspect(path)
    columns = [column.model_dump() for column in report.columns]
    suggested = suggest_columns(columns, report.preview, ColumnRoles()) or ColumnRoles()
    assert (suggested.prompt, suggested.answer) == (prompt, answer)


def test_what_is_declared_is_not_suggested() -> None:
    columns = [{"name": "question", "type": "string"}, {"name": "total", "type": "integer"}]
    declared = ColumnRoles(prompt="question")
    assert suggest_columns(columns, [], declared) == ColumnRoles(answer="total")
    assert suggest_columns(columns, [], declared.model_copy(update={"answer": "total"})) is None


def test_a_list_of_chat_messages_is_suggested_as_messages() -> None:
    preview = [{"conversation": [{"role": "user", "content": "1+1?"}], "answer": "2"}]
    columns = [{"name": "conversation", "type": "list"}, {"name": "answer", "type": "string"}]
    assert suggest_columns(columns, preview, ColumnRoles()) == ColumnRoles(messages="conversation")
