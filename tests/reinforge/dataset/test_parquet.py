"""Parquet: types that become JSON, types that are refused, and damage."""

import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reinforge.dataset import DatasetError, DatasetLimits, inspect, iter_prompts, iter_rows


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_types_become_json(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        {
            "prompt": ["é", "b"],
            "n": pa.array([1, None], pa.int8()),
            "half": pa.array([1.5, 2], pa.float16()),
            "day": pa.array([datetime.date(2024, 2, 29), None]),
            "time": pa.array([datetime.datetime(2024, 2, 29, 1, 2, 3), None], pa.timestamp("s")),
            "price": pa.array([decimal.Decimal("1.10"), None]),
            "word": pa.array(["x", "x"]).dictionary_encode(),
            "messages": [[{"role": "user", "content": "hi"}], [{"role": "user", "content": "ho"}]],
        },
    )
    first, second = iter_rows(path)
    assert first == {
        "prompt": "é",
        "n": 1,
        "half": 1.5,
        "day": "2024-02-29",
        "time": "2024-02-29 01:02:03.000",
        "price": "1.10",
        "word": "x",
        "messages": [{"role": "user", "content": "hi"}],
    }
    assert second["n"] is None
    report = inspect(path)
    assert (report.format, report.rows, report.prompt_source) == ("parquet", 2, "messages")
    assert [prompt.messages[0]["content"] for prompt in iter_prompts(path)] == ["hi", "ho"]


def test_all_rows_over_batches_and_row_groups(tmp_path: Path) -> None:
    prompts = [f"{number}?" for number in range(1000)]
    path = write(tmp_path / "a.parquet", {"prompt": prompts}, row_group_size=150)
    assert [row["prompt"] for row in iter_rows(path)] == prompts


@pytest.mark.parametrize(
    ("array", "code", "line"),
    [
        (pa.array([b"\x89PNG", b""]), "unsupported_type", None),
        (pa.array([[{"bytes": b"x"}], []]), "unsupported_type", None),
        (pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())), "unsupported_type", None),
        (pa.array([1, 2], pa.duration("s")), "unsupported_type", None),
        (pa.array([0.5, float("nan")]), "not_finite", 2),
        (pa.array([[1.0], [float("inf")]]), "not_finite", 2),
        (pa.array([1, 2**63], pa.uint64()), "integer_too_large", 2),
        (pa.array(["a", "b\0"]), "nul_byte", 2),
        (pa.array([b"a", b"\xff"]).view(pa.string()), "wrong_encoding", None),
    ],
    ids=["bytes", "nested bytes", "map", "duration", "NaN", "nested inf", "uint64", "NUL", "not UTF-8"],
)
def test_refused_columns_are_named(tmp_path: Path, array: pa.Array, code: str, line: int | None) -> None:
    path = write(tmp_path / "a.parquet", {"prompt": ["a", "b"], "picture": array})
    with pytest.raises(DatasetError) as caught:
        inspect(path)
    assert caught.value.code == code
    if code != "wrong_encoding":
        assert '"picture"' in caught.value.message
        assert caught.value.line == line
        assert line is None or str(caught.value.excerpt).startswith('{"picture": ')
    assert caught.value.column is None
    assert caught.value.caret is None


def test_prompts_are_checked_with_the_row_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"prompt": ["a", " "]})
    with pytest.raises(DatasetError) as caught:
        inspect(path)
    assert (caught.value.code, caught.value.line, caught.value.column) == ("empty_prompt", 2, None)
    assert (caught.value.excerpt, caught.value.caret) == ('{"prompt":" "}', None)


def test_no_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"prompt": pa.array([], pa.string())})
    with pytest.raises(DatasetError) as caught:
        inspect(path)
    assert caught.value.code == "empty_file"


def test_too_deep_and_duplicate_columns(tmp_path: Path) -> None:
    kind = pa.int64()
    for _ in range(10):
        kind = pa.list_(kind)
    path = write(tmp_path / "a.parquet", {"prompt": ["a"], "deep": pa.array([None], kind)})
    assert inspect(path, limits=DatasetLimits(max_depth=11)).rows == 1
    with pytest.raises(DatasetError) as caught:
        inspect(path, limits=DatasetLimits(max_depth=10))
    assert caught.value.code == "nesting_too_deep"
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["prompt", "prompt"])
    pq.write_table(table, tmp_path / "b.parquet")
    with pytest.raises(DatasetError) as caught:
        inspect(tmp_path / "b.parquet")
    assert caught.value.code == "duplicate_column"


def test_a_row_over_the_limit(tmp_path: Path) -> None:
    # Dictionary encoding keeps a repeated value once: the file is smaller than what it decodes to.
    path = write(tmp_path / "a.parquet", {"prompt": ["x" * 100_000] * 100})
    assert path.stat().st_size < 200_000
    with pytest.raises(DatasetError) as caught:
        inspect(path, limits=DatasetLimits(max_row_bytes=50_000))
    assert (caught.value.code, caught.value.line) == ("row_too_large", 1)
    with pytest.raises(DatasetError) as caught:
        inspect(path, limits=DatasetLimits(max_decoded_bytes=1_000_000))
    assert (caught.value.code, caught.value.status) == ("too_many_rows", 413)


def test_damage_is_an_error_or_harmless_never_a_crash(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"prompt": [f"number {number}" for number in range(500)]})
    whole = path.read_bytes()
    generator = random.Random(0)
    refused = 0
    for cut in (4, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(DatasetError) as caught:
            inspect(path)
        assert caught.value.code == "corrupt_parquet"
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[generator.randrange(4, len(whole))] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        try:
            inspect(path)
        except DatasetError as error:
            refused += error.code == "corrupt_parquet"
    assert refused > 10
