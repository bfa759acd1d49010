"""`make soak`: jobs for hours, each hurt, on one platform; memory, descriptors, threads, tables and files stay flat.

    python -m tests.chaos.soak --hours 2 --out soak.json [--seed 1]

Processes that a fault has killed begin anew, so in the first three quarters of the time faults leave the platform's own
processes alone; how old the oldest of a role has become stands in the table. Exits with 1 when a job was not what it
should be or something grew.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import psycopg

from tests.chaos import report
from tests.chaos.faults import Catalogue, Fault
from tests.chaos.points import kill_targets
from tests.chaos.run import hurt, undisturbed
from tests.chaos.running import Bench

EVERY_SECONDS = 20.0
SPARED = frozenset({"api", "background", "worker", "calls", "sandbox", "postgres", "up", "tree"})
"""Processes whose age is wanted."""
ONE_IN = 3
"""Of so many faults one may hit them all the same, once their age is known."""
SPARING = 0.75
"""Of the time."""
_WARM_SECONDS = 300.0
"""Caches, pools and allocators fill in a process's first minutes."""
_SIZES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


@dataclass(frozen=True)
class Process:
    role: str
    pid: int
    age: float
    """Seconds."""
    memory: int
    """Bytes that it has for itself, its share of what it shares included (PSS)."""
    descriptors: int
    threads: int


@dataclass(frozen=True)
class Sample:
    at: float
    """Seconds since the begin."""
    processes: list[Process]
    tables: dict[str, int]
    """Bytes, indexes included."""
    connections: int
    files: int
    """In the platform's home and its temporary folder, the database's left out."""
    file_bytes: int


def _process(role: str, pid: int) -> Process | None:
    folder = Path("/proc") / str(pid)
    try:
        rollup = (folder / "smaps_rollup").read_text()
        ticks = int((folder / "stat").read_text().rpartition(")")[2].split()[19])
        threads = len(list((folder / "task").iterdir()))
        descriptors = len(list((folder / "fd").iterdir()))
    except OSError:  # it has just ended
        return None
    pss = next((int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return Process(role, pid, uptime - ticks / os.sysconf("SC_CLK_TCK"), pss, descriptors, threads)


def _files(*folders: Path) -> tuple[int, int]:
    count = size = 0
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                try:
                    size += (Path(root) / name).lstat().st_size
                    count += 1
                except FileNotFoundError:
                    continue
    return count, size


def sample(bench: Bench, begin: float) -> Sample | None:
    """None while the database does not answer."""
    pids = kill_targets.pids(bench.plans)
    measurement = [
        _process(role, pid)
        for role, all_of in pids.items()
        if role is not None and role != "trainer"
        for pid in (all_of[:1] if role == "postgres" else all_of)
    ]
    try:
        tables = {str(name): int(size) for name, size in bench.sql(_SIZES)}
        ((connections,),) = bench.sql("SELECT count(*) FROM pg_stat_activity")
    except psycopg.Error:
        return None
    files, file_bytes = _files(bench.home, bench.temporary)
    processes = [measurement for measurement in measurement if measurement is not None]
    return Sample(time.monotonic() - begin, processes, tables, int(connections), files, file_bytes)


class Sampler:
    """Takes a sample now and then, beside the jobs."""

    def __init__(self, bench: Bench, begin: float) -> None:
        self.samples: list[Sample] = []
        self._bench, self._begin = bench, begin
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(EVERY_SECONDS):
            if (measurement := sample(self._bench, self._begin)) is not None:
                self.samples.append(measurement)


def faults(catalogue: Catalogue, chance: Random, sparing: Callable[[], bool]) -> Iterator[Fault]:
    """Without an end. sparing: whether the platform's own processes are to live on."""
    every = [*catalogue.enumerated(), *catalogue.special()]
    mild = [fault for fault in every if SPARED.isdisjoint(fault.victims)]
    hard = [fault for fault in every if not SPARED.isdisjoint(fault.victims)]
    number = 0
    while True:
        number += 1
        yield chance.choice(mild if sparing() or number % ONE_IN else hard)


@dataclass(frozen=True)
class Growth:
    what: str
    early: float
    late: float
    allowed: float
    """What `late` may be at most."""
    note: str = ""

    @property
    def flat(self) -> bool:
        return self.late <= self.allowed


def _growth(what: str, values: Sequence[float], ratio: float, room: float, note: str = "") -> Growth | None:
    """The medians of the second and the last quarter: the first one fills caches."""
    quarter = len(values) // 4
    if quarter < 2:
        return None
    early, late = median(values[quarter : 2 * quarter]), median(values[-quarter:])
    return Growth(what, early, late, early * ratio + room, note)


def growths(samples: Sequence[Sample]) -> list[Growth]:
    """Of the longest-lived process of each role, of each table, of connections and files."""
    lives: dict[tuple[str, int], list[Process]] = {}
    for point in samples:
        for process in point.processes:
            lives.setdefault((process.role, process.pid), []).append(process)
    rows: list[Growth | None] = []
    for role in sorted({role for role, _ in lives}):
        life = max((life for (of, _), life in lives.items() if of == role), key=len)
        warm = [point for point in life if point.age > _WARM_SECONDS]
        age = f"{life[-1].age / 60:.0f} min old"
        rows += [
            _growth(f"{role}: memory, MB", [point.memory / 1e6 for point in warm], 1.15, 15, age),
            _growth(f"{role}: descriptors", [point.descriptors for point in warm], 1.05, 4, age),
            _growth(f"{role}: threads", [point.threads for point in warm], 1.05, 3, age),
        ]
    for name in sorted({name for point in samples for name in point.tables}):
        sizes = [point.tables.get(name, 0) / 1e6 for point in samples]
        rows.append(_growth(f"table {name}, MB", sizes, 1.5, 2))
    rows.append(_growth("database connections", [point.connections for point in samples], 1.2, 5))
    rows.append(_growth("files", [point.files for point in samples], 1.2, 50))
    rows.append(_growth("files, MB", [point.file_bytes / 1e6 for point in samples], 1.2, 20))
    return [growth for growth in rows if growth is not None]


def table(rows: Sequence[Growth]) -> str:
    lines = ["| | second quarter | last quarter | |", "|---|---:|---:|---|"]
    for growth in rows:
        if growth.what.startswith("table ") and growth.flat and max(growth.early, growth.late) < 1:
            continue
        verdict = "flat" if growth.flat else f"**grew** (at most {growth.allowed:.1f})"
        note = f"{verdict}, {growth.note}" if growth.note else verdict
        lines.append(f"| {growth.what} | {growth.early:.1f} | {growth.late:.1f} | {note} |")
    small = sum(
        growth.what.startswith("table ") and growth.flat and max(growth.early, growth.late) < 1
        for growth in rows
    )
    lines.append(f"\n{small} more tables stayed below 1 MB.")
    return "\n".join(lines)


def soak(hours: float, out: Path, seed: int) -> tuple[list[dict[str, Any]], list[Sample]]:
    records: list[dict[str, Any]] = []
    with Bench() as bench:
        reference = undisturbed(bench)
        chance = Random(seed)
        begin = time.monotonic()
        upcoming = faults(
            reference.catalogue(bench, seed),
            chance,
            sparing=lambda: time.monotonic() - begin < SPARING * hours * 3600,
        )
        with Sampler(bench, begin) as sampler:
            while time.monotonic() - begin < hours * 3600:
                fault = next(upcoming)
                try:
                    record = hurt(
                        bench, fault, reference, keep_logs=out.with_suffix(".logs") / str(len(records) + 1)
                    )
                except (RuntimeError, AssertionError, OSError) as error:
                    record = report.broken(fault, error)
                records.append(record)
                print(report.line(len(records), record), flush=True)
                content = {"records": records, "samples": [asdict(point) for point in sampler.samples]}
                out.write_text(json.dumps(content))
    return records, sampler.samples


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--out", type=Path, default=Path("soak.json"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    records, samples = soak(options.hours, options.out, options.seed)
    rows = growths(samples)
    print(report.table(records))
    print(table(rows))
    return 0 if all(map(report.passed, records)) and all(growth.flat for growth in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
