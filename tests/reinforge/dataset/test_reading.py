"""Accepted files and the inspection report."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reinforge.dataset import (
    ColumnRoles,
    DatasetLimits,
    DatasetReport,
    inspect,
    iter_prompts,
    iter_rows,
    row_hash,
)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def codes(report: DatasetReport) -> list[str]:
    return [warning.code for warning in report.warnings]


@pytest.mark.parametrize(
    "content",
    [
        '{"prompt": "1+1=", "answer": "2"}\n{"prompt": "é😀", "answer": ""}\n',
        '\ufeff{"prompt": "1+1=", "answer": "2"}\r\n{"prompt": "é😀", "answer": ""}\r\n',
        '{"prompt": "1+1=", "answer": "2"}\n\n  \n{"prompt": "é😀", "answer": ""}\n\n\n',
        '{"answer": "2", "prompt": "1+1="}\n{"prompt": "\\u00e9\\ud83d\\ude00", "answer": ""}',
    ],
    ids=["plain", "BOM and CRLF", "blank lines", "escapes, no last line break"],
)
def test_spellings_of_the_same_jsonl(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "a.jsonl", content)
    assert list(iter_rows(path)) == [{"prompt": "1+1=", "answer": "2"}, {"prompt": "é😀", "answer": ""}]
    assert inspect(path).warnings == []


@pytest.mark.parametrize(
    "content",
    [
        'prompt,answer\n"say ""hi"", now",007\n"two\r\nlines",\n',
        '\ufeff"prompt","answer"\r\n"say ""hi"", now",007\r\n"two\r\nlines",\r\n\r\n',
        '\n"prompt"\tanswer\n"say ""hi"", now"\t007\n"two\r\nlines"\t\n',
        'prompt;answer\n"say ""hi"", now";007\n"two\r\nlines";\n',
    ],
    ids=["plain", "BOM and CRLF", "tabs", "semicolons"],
)
def test_spellings_of_the_same_csv(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "a.csv", content)
    expected = [{"prompt": 'say "hi", now', "answer": "007"}, {"prompt": "two\r\nlines", "answer": ""}]
    assert list(iter_rows(path)) == expected
    assert inspect(path).format == "csv"


@settings(max_examples=40)
@given(rows=st.lists(st.dictionaries(st.text("abcé ", min_size=1), JSON_VALUES), max_size=5))
def test_jsonl_gives_back_what_json_wrote(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / f"any-{os.getpid()}.jsonl"
    for ascii_only in (True, False):
        write(path, "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows))
        if rows:
            assert list(iter_rows(path)) == rows


@given(st.lists(st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))] * 2)))
def test_csv_gives_back_what_csv_wrote(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / f"any-{os.getpid()}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *rows])
    assert [(row["a"], row["b"]) for row in iter_rows(path)] == rows


def test_deep_texts_full_of_brackets_are_not_deep(tmp_path: Path) -> None:
    row = {"prompt": "[{" * 500 + '\\u0000 "', "x": [[[]]] * 100}
    path = write(tmp_path / "a.jsonl", json.dumps(row))
    assert list(iter_rows(path)) == [row]


def test_the_report_of_a_small_file(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": "a", "n": 1, "x": None, "mixed": 1},
        {"prompt": "bcd", "n": 2.5, "mixed": "s"},
        {"prompt": "a", "n": 1, "x": None, "mixed": 1},
    ]
    path = write(tmp_path / "up", "\n".join(map(json.dumps, rows)))
    report = inspect(path, "train.jsonl", preview_rows=2)
    assert (report.filename, report.format, report.rows, report.duplicate_rows) == (
        "train.jsonl",
        "jsonl",
        3,
        1,
    )
    assert report.bytes == path.stat().st_size
    assert report.prompt_source == "prompt"
    assert report.preview == rows[:2]
    by_name = {column.name: column for column in report.columns}
    assert list(by_name) == ["prompt", "n", "x", "mixed"]
    assert (by_name["prompt"].type, by_name["prompt"].example) == ("string", "a")
    assert (by_name["prompt"].mean_characters, by_name["prompt"].max_characters) == (5 / 3, 3)
    assert (by_name["n"].type, by_name["n"].types) == ("number", {"integer": 2, "number": 1})
    assert (by_name["x"].type, by_name["x"].null_count, by_name["x"].missing_count) == ("null", 2, 1)
    assert by_name["mixed"].type == "mixed"
    assert codes(report) == ["duplicate_rows", "missing_values", "mixed_types"]
    assert "integer (from line 1) and string (from line 2)" in report.warnings[-1].message
    assert DatasetReport.model_validate_json(report.model_dump_json()) == report


def test_the_content_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"prompt": "a"}\n')
    output = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
    assert inspect(path).sha256 == output.split()[0]


def test_one_row_is_accepted_with_a_warning_about_the_held_out_split(tmp_path: Path) -> None:
    report = inspect(write(tmp_path / "a.jsonl", '{"prompt": "a"}'))
    assert codes(report) == ["single_row"]
    assert "held out" in report.warnings[0].message


def test_a_raw_file_is_accepted_and_resolved_by_roles_or_a_template(tmp_path: Path) -> None:
    path = write(
        tmp_path / "gsm.jsonl", '{"question": "1+1?", "answer": "#### 2"}\n{"question": "2?", "answer": ""}'
    )
    report = inspect(path)
    assert (report.prompt_source, codes(report)) == (None, ["no_prompt_column"])
    assert "question, answer" in report.warnings[0].message
    inspection = inspect(path, roles=ColumnRoles(prompt="question", answer="answer"))
    assert (inspection.prompt_source, codes(inspection)) == ("prompt", [])
    assert inspect(path, template="Solve: {question}").prompt_source == "template"
    prompts = list(iter_prompts(path, template="Solve: {question}", system_prompt="Be brief."))
    assert [prompt.index for prompt in prompts] == [0, 1]
    assert prompts[0].item == {"question": "1+1?", "answer": "#### 2"}
    assert prompts[0].messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Solve: 1+1?"},
    ]


def test_roles_can_point_away_from_the_reserved_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"messages": "free text", "text": "1+1="}')
    report = inspect(path, roles=ColumnRoles(prompt="text"))
    assert report.prompt_source == "prompt"


def test_both_messages_and_prompt(tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "m"}], "prompt": "p"}
    path = write(tmp_path / "a.jsonl", json.dumps(row) + "\n" + json.dumps(row | {"id": 1}))
    assert codes(inspect(path)) == ["two_prompts", "missing_values"]
    assert next(iter_prompts(path)).messages == row["messages"]


def test_the_preview_stays_small(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", json.dumps({"prompt": "x" * 100_000, "list": list(range(9999))}))
    report = inspect(path)
    assert len(report.model_dump_json()) < 5000
    assert report.preview[0]["prompt"].endswith("x…")


def test_the_format_is_detected_without_a_file_extension(tmp_path: Path) -> None:
    assert inspect(write(tmp_path / "upload", ' \n{"prompt": "a"}')).format == "jsonl"


def test_a_csv_whose_header_begins_like_parquet(tmp_path: Path) -> None:
    assert inspect(write(tmp_path / "a.csv", "PAR1,PAR2\n1,2\n")).rows == 1


def test_row_hash_ignores_the_order_of_keys_only() -> None:
    assert row_hash({"a": 1, "b": {"c": [1, 2], "d": "é"}}) == row_hash(
        {"b": {"d": "é", "c": [1, 2]}, "a": 1}
    )
    different = [{"a": 1}, {"a": "1"}, {"a": 1.0}, {"a": True}, {"a": [1, 2]}, {"a": [2, 1]}, {"b": 1}, {}]
    assert len({row_hash(row) for row in different}) == len(different)


def test_memory_is_bounded_by_the_row_not_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    line = json.dumps({"prompt": "x" * 100_000}) + "\n"
    with path.open("w") as file:
        file.writelines(line for _ in range(600))
    # ru_maxrss of a fresh process, because the peak of this one belongs to other tests.
    program = (
        "import resource, sys; from reinforge.dataset import inspect;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "report = inspect(sys.argv[1]);"
        "print(report.rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    output = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    rows, grown_kib = map(int, output.stdout.split())
    assert rows == 600
    assert grown_kib < 20 * 1024  # the file has 60 MB


def test_limits_are_4_gib_by_default() -> None:
    assert DatasetLimits().max_bytes == 4 * 1024**3


@pytest.mark.skipif(
    not (Path(os.environ.get("REINFORGE_SHARED", "../shared")) / "data/gsm8k").is_dir(),
    reason="REINFORGE_SHARED does not hold data/gsm8k",
)
@pytest.mark.parametrize(("name", "rows"), [("train", 7473), ("test", 1319)])
def test_gsm8k_as_it_is(name: str, rows: int) -> None:
    path = Path(os.environ.get("REINFORGE_SHARED", "../shared")) / f"data/gsm8k/{name}.jsonl"
    report = inspect(path, template="{question}")
    assert (report.rows, report.prompt_source, report.duplicate_rows) == (rows, "template", 0)
