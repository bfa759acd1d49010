"""All faults of a file, and the file without its bad rows."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reinforge.dataset import DatasetError, DatasetLimits, faults, inspect, inspect_skipping, iter_rows
from reinforge.dataset.formats import parquet

GOOD = '{"prompt": "1+1=", "answer": "2"}\n'


def refused(path: Path) -> DatasetError:
    with pytest.raises(DatasetError) as caught:
        inspect(path)
    return caught.value


def places(error: DatasetError) -> list[tuple[int | None, int | None, str]]:
    return [(fault["line"], fault["column"], fault["code"]) for fault in error.errors]


def test_every_fault_of_jsonl_has_its_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [GOOD, '{"prompt": \n', GOOD, "[1]\n", '{"prompt": ""}\n', '{"prompt": "ü"}\n', '{"prompt": 1}\n']
    path.write_bytes("".join(lines).encode("latin-1"))
    error = refused(path)
    assert (error.code, error.line) == ("truncated_json", 2)  # as with one fault
    assert places(error) == [
        (2, 11, "truncated_json"),
        (4, 1, "row_not_an_object"),
        (5, 12, "empty_prompt"),
        (6, 13, "wrong_encoding"),
        (7, 12, "wrong_type"),
    ]
    assert error.faults == {"bad_rows": 5, "good_rows": 2, "skippable": True}


def test_bad_rows_are_skipped_and_the_others_stay_byte_for_byte(tmp_path: Path) -> None:
    path, to = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes(
        b'prompt,answer\r\n"two\nlines",1\r\n"ragged\nover two lines"\r\n\r\na,2\r\n,3\r\n"a"b,4\r\nc,5'
    )
    report = inspect_skipping(path, "a.csv", DatasetLimits(), to)
    assert to.read_bytes() == b'prompt,answer\r\n"two\nlines",1\r\n\r\na,2\r\nc,5'
    assert report.skipped is not None
    assert (report.rows, report.skipped.rows, report.skipped.lines) == (3, 3, [4, 8, 9])
    assert [(fault.line, fault.code) for fault in report.skipped.faults] == [
        (5, "ragged_row"),
        (8, "empty_prompt"),
        (9, "invalid_csv"),
    ]
    assert [row["prompt"] for row in iter_rows(to)] == ["two\nlines", "a", "c"]


def test_bad_rows_of_parquet_are_skipped_and_the_types_stay(tmp_path: Path) -> None:
    path, to = tmp_path / "a.parquet", tmp_path / "b.parquet"
    columns = {
        "prompt": [f"{n}+1=" for n in range(300)],
        "weight": [float(n) for n in range(300)],
        "at": pa.array(range(300), pa.timestamp("ms")),
        "kind": pa.array(["sum"] * 300).dictionary_encode(),
        "turns": [[{"role": "user", "content": "a"}]] * 300,
    }
    columns["prompt"][2], columns["prompt"][299], columns["weight"][128] = " ", "a\0b", float("nan")
    table = pa.table(columns)
    pq.write_table(table, path, row_group_size=100)
    assert places(refused(path)) == [
        (3, None, "empty_prompt"),
        (129, None, "not_finite"),
        (300, None, "nul_byte"),
    ]
    report = inspect_skipping(path, "a.parquet", DatasetLimits(), to)
    assert report.skipped is not None and report.skipped.lines == [3, 129, 300]
    assert (report.rows, report.sha256) == (297, inspect(to).sha256)
    assert pq.read_table(to).equals(table.take([n for n in range(300) if n not in (2, 128, 299)]))


def test_rows_that_are_small_in_parquet_alone_are_bounded(tmp_path: Path) -> None:
    path, to = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"prompt": ["", *[f"{n}" for n in range(2000)]]}), path)
    limits = DatasetLimits(max_bytes=path.stat().st_size)
    parquet.write_without_rows(path, to, [1], limits)
    with pytest.raises(DatasetError) as caught:
        parquet.write_without_rows(path, to, [1], DatasetLimits(max_bytes=1000))
    assert caught.value.code == "file_too_large"


def test_row_groups_of_what_is_left_have_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, to = tmp_path / "a.parquet", tmp_path / "b.parquet"
    batch = parquet.BATCH_ROWS
    table = pa.table({"n": range(6 * batch)})
    pq.write_table(table, path)
    monkeypatch.setattr(parquet, "GROUP_BYTES", table.slice(0, 2 * batch).nbytes)
    parquet.write_without_rows(path, to, [6 * batch], DatasetLimits())
    groups = pq.read_metadata(to)
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [
        2 * batch,
        2 * batch,
        2 * batch - 1,
    ]


def test_warnings_have_the_lines_of_the_uploaded_file(tmp_path: Path) -> None:
    path, to = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [f"{n}+1,{n + 1}" for n in range(20)]
    rows[0], rows[5], rows[10], rows[19] = '"ragged\nrow"', ",6", "10+1,eleven", ",20"
    path.write_text("\n".join(["prompt,answer", *rows]))
    report = inspect_skipping(path, "a.csv", DatasetLimits(), to)
    assert report.skipped is not None and report.skipped.lines == [2, 8, 22]
    [warning] = [warning.message for warning in report.warnings if warning.code == "not_a_number"]
    assert warning.endswith('"eleven" on line 13.')


def test_a_good_file_is_not_copied(tmp_path: Path) -> None:
    path, to = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text(GOOD)
    assert inspect_skipping(path, "a.jsonl", DatasetLimits(), to).skipped is None
    assert not to.exists()


@pytest.mark.parametrize(
    "content",
    [
        b'prompt,answer\na,1\nb,"open\nc,d\n',
        b'prompt,answer\n"\xff\nb",2\na,1\n',  # where the record ends is not certain
        b'prompt,answer\na,1\n"x\n"y,2\nb,3\n',
        b'prompt,answer\na,1\n"a"b,"x\ny",1\nc,2\n',
        b"prompt,prompt\na,1\n",
        b"prompt\n \n",
    ],
    ids=[
        "open quote",
        "bytes in a quoted record",
        "quote inside a long record",
        "second quote open",
        "header",
        "no good row",
    ],
)
def test_what_cannot_be_skipped(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    error = refused(path)
    assert error.faults is None or not error.faults["skippable"]
    with pytest.raises(DatasetError):
        inspect_skipping(path, "a.csv", DatasetLimits(), tmp_path / "b.csv")


def test_a_fault_of_the_file_after_bad_rows_is_listed_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("oops\n" + GOOD + '{"prompt": "' + "x" * 200 + '"}\n')
    with pytest.raises(DatasetError) as caught:
        inspect(path, limits=DatasetLimits(max_row_bytes=100))
    assert places(caught.value) == [(1, 1, "invalid_json"), (3, 1, "row_too_large")]
    assert caught.value.faults == {"bad_rows": 1, "good_rows": 1, "skippable": False}


def test_faults_are_listed_and_counted_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(GOOD + "oops\n" * 100)
    error = refused(path)
    assert len(error.errors) == faults.LISTED
    assert error.faults == {"bad_rows": 100, "good_rows": 1, "skippable": True}
    monkeypatch.setattr(faults, "MOST_BAD_ROWS", 50)
    assert refused(path).faults == {"bad_rows": 50, "good_rows": 1, "skippable": False}
    monkeypatch.setattr(faults, "MOST_BAD_CHARACTERS", 10)
    assert refused(path).faults == {"bad_rows": 3, "good_rows": 1, "skippable": False}


def test_an_empty_prompt_of_a_column_named_question_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,total\n1+1,2\n ,3\n2+2,4\n")
    error = refused(path)
    assert places(error) == [(3, 1, "empty_prompt")]
    path.write_text("context,total\n1+1,2\n,3\n")
    assert inspect(path).rows == 2
