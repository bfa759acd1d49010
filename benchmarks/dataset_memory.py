"""What a large dataset costs the backend: memory, seconds and MB/s from the first byte sent to the dataset stored.

A real backend process gets JSONL, CSV and Parquet through the client. Its resident memory, with all its children
(the one that reads the file among them), is looked at every 20 ms; pages that processes share count in each. The
growth over the idle backend counts, and has to stay below 500 MB.

The report on equal prompts and leaks is measured beside: a million rows of about 250 bytes, compared with the 256 rows
that a split holds out, and with another dataset of 20,000 rows.
"""

import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from common.backend import KEY, Backend
from common.cpu import Account
from common.measure import machine, parser, table

from reinforge.client import Reinforge

MB = 1_000_000
LIMIT_MB = 500
ROW_BYTES = 250


@dataclass
class Measured:
    case: str
    bytes: int
    rows: int
    seconds: float
    mb_per_second: float
    cpu_seconds: float
    """Of the backend's processes: what the same takes where nothing else runs."""
    idle_mb: float
    growth_mb: float
    by_process_mb: dict[str, float]
    """The most that each process had: its command's last words, megabytes."""


class Memory(threading.Thread):
    """Resident memory of processes and all their children, looked at again and again."""

    def __init__(self, pids: list[int]) -> None:
        super().__init__(daemon=True)
        self.pids, self.peak, self.by_process = pids, 0, dict[str, float]()
        self._done = threading.Event()

    def now(self) -> int:
        """Bytes of all of them together."""
        total = 0
        for pid in self._tree():
            name, size = _resident(pid)
            total += size
            self.by_process[name] = max(self.by_process.get(name, 0.0), size / MB)
        self.peak = max(self.peak, total)
        return total

    def run(self) -> None:
        while not self._done.wait(0.02):
            self.now()

    def stop(self) -> None:
        self._done.set()
        self.join()

    def _tree(self) -> Iterator[int]:
        waiting = list(self.pids)
        while waiting:
            pid = waiting.pop()
            yield pid
            waiting += _children(pid)


def _children(pid: int) -> list[int]:
    pids: list[int] = []
    for task in _listed(Path(f"/proc/{pid}/task")):
        pids += [int(pid) for pid in _text(task / "children").split()]
    return pids


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""


def _resident(pid: int) -> tuple[str, int]:
    words = _text(Path(f"/proc/{pid}/cmdline")).split("\0")
    name = next((word for word in words if word.startswith("backend")), words[0][-30:])
    lines = _text(Path(f"/proc/{pid}/status")).splitlines()
    return name, next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def rows(size: int, seed: int = 0, *, words: int = 150) -> Iterator[dict[str, str]]:
    """Rows that differ, until their texts have `size` bytes: a question of about a kilobyte, and its answer."""
    generator = random.Random(seed)
    vocabulary = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(20_000)]
    texts = [" ".join(generator.choices(vocabulary, k=words)) for _ in range(2_000)]
    made = number = 0
    while made < size:
        number += 1
        row = {"prompt": f"Question {number}: {texts[generator.randrange(2_000)]}", "answer": str(number)}
        made += len(row["prompt"]) + 40
        yield row


def write_jsonl(path: Path, size: int) -> None:
    with path.open("w") as file:
        for row in rows(size):
            file.write(json.dumps(row) + "\n")


def write_csv(path: Path, size: int) -> None:
    with path.open("w") as file:
        file.write("prompt,answer\n")
        for row in rows(size):
            file.write(f'"{row["prompt"]}",{row["answer"]}\n')


def write_parquet(path: Path, size: int) -> None:
    """Without compression, so that the size is the file's."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("prompt", pa.string()), ("answer", pa.string())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        batch: list[dict[str, str]] = []
        for row in rows(size):
            batch.append(row)
            if len(batch) == 50_000:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, schema))


# ── Measuring ─────────────────────────────────────────────────────────────────────────────────────────────


def measure(backend: Backend, case: str, work: Callable[[], tuple[int, int]]) -> Measured:
    """`work` gives the bytes and rows that it dealt with."""
    memory = Memory([backend.pids["api"], backend.pids["background"]])
    idle = memory.now()
    memory.by_process.clear()
    memory.start()
    account = Account({name: backend.pids[name] for name in ("api", "background")})
    began = time.perf_counter()
    size, count = work()
    seconds = time.perf_counter() - began
    memory.stop()
    measured = Measured(
        case,
        size,
        count,
        round(seconds, 1),
        round(size / MB / seconds, 1),
        round(sum(account.seconds().values()), 1),
        round(idle / MB, 1),
        round((memory.peak - idle) / MB, 1),
        {name: round(most, 1) for name, most in memory.by_process.items()},
    )
    print(
        f"{case}: {measured.growth_mb} MB more, {measured.seconds} s, {measured.cpu_seconds} s of CPU",
        flush=True,
    )
    return measured


def cases(
    client: Reinforge, folder: Path, large: int, small: int, only: str
) -> Iterator[tuple[str, Callable[[], Any]]]:
    writers = (
        ("JSONL in parts", "rows.jsonl", write_jsonl, large, True),
        ("JSONL in one request", "rows.jsonl", write_jsonl, large, False),
        ("CSV in parts", "rows.csv", write_csv, small, True),
        ("Parquet in parts", "rows.parquet", write_parquet, small, True),
    )
    made: dict[str, Path] = {}
    for case, name, writer, size, in_parts in writers:
        if only not in case:
            continue
        for other in set(made) - {name}:
            made.pop(other).unlink()
        if name not in made:
            writer(folder / name, size)
            made[name] = folder / name

        def push(path: Path = made[name], in_parts: bool = in_parts) -> tuple[int, int]:
            dataset = client.datasets.push(path, reuse=False, in_parts=in_parts)
            return dataset.bytes, dataset.rows

        yield case, push


def reports(client: Reinforge, folder: Path, count: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    ids = []
    for name, seed, number in (("trained", 1, count), ("held-out", 2, count // 50)):
        with (folder / f"{name}.jsonl").open("w") as file:
            for row in rows(number * ROW_BYTES, seed, words=30):
                file.write(json.dumps(row) + "\n")
        ids.append(client.datasets.push(folder / f"{name}.jsonl", reuse=False).id)
    dataset = client.datasets.get(ids[0])

    def split() -> tuple[int, int]:
        assert client.datasets.report(ids[0]).status == "ready"
        return dataset.bytes, dataset.rows

    def together() -> tuple[int, int]:
        assert client.datasets.report(ids[0], split_by="prompt").status == "ready"
        return dataset.bytes, dataset.rows

    def other() -> tuple[int, int]:
        assert client.datasets.report(ids[0], held_out=ids[1]).status == "ready"
        return dataset.bytes, dataset.rows

    yield "Report: a split by rows", split
    yield "Report: a split by prompts", together
    yield "Report: another dataset", other


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--json", type=Path, help="write the figures there")
    options.add_argument("--only", default="", help="cases whose name has this in it")
    arguments = options.parse_args()
    large, small = (100 * MB, 50 * MB) if arguments.quick else (2_000 * MB, 500 * MB)
    result: dict[str, Any] = {"machine": machine("pyarrow", "fastapi", "uvicorn"), "limit_mb": LIMIT_MB}
    with Backend() as backend, tempfile.TemporaryDirectory(prefix="rf-bench-data-") as folder:
        client = Reinforge(backend.url, KEY, timeout=3600.0)
        count = 50_000 if arguments.quick else 1_000_000
        work = cases(client, Path(folder), large, small, arguments.only)
        if not arguments.only or "Report" in arguments.only:
            work = chain(work, reports(client, Path(folder), count))
        measurements = [measure(backend, case, part) for case, part in work if arguments.only in case]
    result["cases"] = [asdict(case) for case in measurements]
    head = ["case", "MB", "rows", "s", "MB/s", "s of CPU", "MB more", "below 500"]
    table(
        head,
        [
            [
                case.case,
                round(case.bytes / MB),
                case.rows,
                case.seconds,
                case.mb_per_second,
                case.cpu_seconds,
                case.growth_mb,
                "yes" if case.growth_mb < LIMIT_MB else "no",
            ]
            for case in measurements
        ],
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
