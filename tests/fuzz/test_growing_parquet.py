"""Parquet that grows when it is read: what it costs grows no faster than what it decodes to, and bombs cost a child.

A file of some hundred bytes may hold any number of rows: cost is compared with the decoded size, not with the file's.
"""

import asyncio
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.uploads import inspection
from reinforge.dataset.formats import parquet
from reinforge.dataset.limits import DatasetLimits
from reinforge.errors import ReinforgeError, TooLarge
from tests.fuzz import growth

Make = Callable[[int], pa.Table]
LARGEST = 65_536
"""Decoded characters."""
AMPLIFICATION = 600
"""Bytes of Python's memory for each decoded one: a batch of rows is in memory, and small values are whole objects."""

COLUMN = 64
"""Decoded characters that a column counts as, since reading it costs as much as many values."""

FAMILIES: dict[str, Make] = {
    "equal short rows": lambda size: pa.table({"prompt": ["abcdefgh"] * (size // 8)}),
    "equal long rows": lambda size: pa.table({"prompt": ["a" * 1024] * max(1, size // 1024)}),
    "one long row": lambda size: pa.table({"prompt": ["a" * size]}),
    "rows of nothing": lambda size: pa.table({"prompt": pa.nulls(size // 4, pa.string())}),
    "a list of nothing": lambda size: pa.table({"messages": [[None] * (size // 4)]}),
    "empty lists": lambda size: pa.table({"messages": [[[] for _ in range(size // 4)]]}),
    "columns": lambda size: pa.table({f"c{n}": [1] for n in range(min(999, size // COLUMN))}),
    "nested structs": lambda size: pa.table({"a": [_nested(min(60, size // 8))]}),
    "a long name": lambda size: pa.table({"n" * size: [1]}),
    "numbers": lambda size: pa.table({"prompt": pa.array([1] * (size // 2), pa.int64())}),
    "runs of a dictionary": lambda size: pa.table(
        {"prompt": pa.array(["ab", "cd"] * (size // 4)).dictionary_encode()}
    ),
}
BOMBS: dict[str, Make] = {
    "more rows than there may be": lambda _: pa.table({"prompt": pa.nulls(21_000_000, pa.string())}),
    "rows of 16 MiB": lambda _: pa.table({"prompt": ["a" * (16 << 20)] * 4}),
    "a list of 20 million values": lambda _: pa.table(
        {"values": pa.ListArray.from_arrays([0, 20_000_000], pa.array(np.zeros(20_000_000, bool)))}
    ),
}


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def write(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path, compression="zstd")
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_cost_grows_no_faster_than_what_is_decoded(tmp_path: Path, family: str) -> None:
    def run_of(size: int) -> growth.Run:
        path = write(FAMILIES[family](size), tmp_path / f"{size}.parquet")

        def run() -> None:
            try:
                for _ in parquet.read(path, DatasetLimits()):
                    pass
            except ReinforgeError:
                pass

        return run

    run_of(256)()  # loads the library
    breach = growth.time_breach(run_of, LARGEST) or growth.memory_breach(
        run_of(growth.SIZES[1]), growth.SIZES[1], AMPLIFICATION
    )
    assert breach is None, str(breach)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_costs_a_child_and_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: str
) -> None:
    monkeypatch.setattr(inspection, "MEMORY_BYTES", 1 << 30)
    path = write(BOMBS[bomb](0), tmp_path / "bomb.parquet")
    assert path.stat().st_size < 1 << 20
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooLarge) as caught:
        asyncio.run(inspection.inspect_file(path, path.name, 1 << 32, project="p"))
    assert caught.value.code in ("too_many_rows", "row_too_large", "file_too_complex")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - own < 64 << 10, "KiB of this process"
