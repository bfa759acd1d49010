"""`make chaos`: hurt real jobs on a real platform, one fault each, and compare what they leave with an undisturbed one.

    python -m tests.chaos.run --count 20 --out chaos.json [--seed 1] [--lanes 1] [--only WORDS] [--list]

Exits with 1 when anything was lost, doubled, left over or different.
"""

import argparse
import json
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tests.chaos import report
from tests.chaos.checks import SUCCEEDED, Remains, compare, remains, volatile_keys
from tests.chaos.faults import Catalogue, Fault, Point
from tests.chaos.inflict import Inflicted, Watched, arm, disarm
from tests.chaos.running import Bench, wait_until
from tests.chaos.store import object_store

_GONE_WITHIN = 15.0
Record = dict[str, Any]


@dataclass(frozen=True)
class Reference:
    """Two jobs to which nothing happened."""

    expected: Remains
    volatile: set[str]
    points: list[Point]
    seconds: float

    def catalogue(self, bench: Bench, seed: int) -> Catalogue:
        """Everything that can be done, with what a job passes that goes on after its worker was lost."""
        one = Catalogue(self.points, self.seconds, mounts=bench.has_mounts, seed=seed)
        if one.lost_at is None:
            return one
        watched = Inflicted(bench, Fault("kill", ("worker",), one.lost_at), record=True).run()
        assert watched.status == SUCCEEDED, watched
        bench.forget(watched.job)
        return replace(one, later=recorded(bench))


def recorded(bench: Bench) -> list[Point]:
    """What processes have noted since this was last asked."""
    path = bench.plans / "points.jsonl"
    points = [json.loads(line) for line in path.read_text().splitlines()]
    path.unlink()
    return points


def undisturbed(bench: Bench) -> Reference:
    """Raises AssertionError when two such jobs differ, since nothing could be compared with them."""
    first = _whole(bench, record=False)[0]
    expected, seconds = _whole(bench, record=True)
    points = recorded(bench)
    volatile = volatile_keys(first, expected)
    difference = compare(first, expected, volatile)
    assert difference.clean and first.adapter_sha256 == expected.adapter_sha256, difference.notes
    return Reference(expected, volatile, points, seconds)


def _whole(bench: Bench, *, record: bool) -> tuple[Remains, float]:
    arm(bench, None, record=record)
    job, begin = bench.create(), time.time()
    final = wait_until(
        lambda: (bench.look(job) or {}).get("status") in ("succeeded", "failed", "paused"), 300
    )
    seconds = time.time() - begin
    disarm(bench)
    result = remains(bench, job)
    assert final and result.status == SUCCEEDED, bench.look(job)
    bench.forget(job)
    return result, seconds


def hurt(
    bench: Bench, fault: Fault, reference: Reference, outage: Any = None, keep_logs: Path | None = None
) -> Record:
    """Inflict a fault on a new job; what came of it."""
    watched = Inflicted(bench, fault, outage).run()
    disarm(bench)
    bench.revive()
    bench.await_ready()
    left = not wait_until(lambda: not bench.trainers(), _GONE_WITHIN)
    actual = remains(bench, watched.job)
    record = _record(fault, watched, reference, actual)
    record["left_running"] = left
    if not report.passed(record) and keep_logs is not None:
        _keep(bench, watched.job, keep_logs)
        record["notes"].append(f"logs: {keep_logs}")
    if watched.status == "stuck":
        bench.request("POST", f"/jobs/{watched.job}/cancel")
        wait_until(lambda: (bench.look(watched.job) or {}).get("status") == "cancelled", 150)
    bench.forget(watched.job)
    return record


def _record(fault: Fault, watched: Watched, reference: Reference, actual: Remains) -> Record:
    expected = reference.expected
    difference = compare(expected, actual, reference.volatile)
    return {
        "fault": fault.label,
        "family": fault.family,
        "role": "+".join(fault.victims) or "none",
        "point": fault.phase,
        "phase": watched.phase,
        "at_step": watched.at_step,
        "fired": watched.fired_at is not None and watched.second_fired is not False,
        "recovered_s": None if watched.recovered_s is None else round(watched.recovered_s, 2),
        "adapter_sha256": actual.adapter_sha256,
        "expected_sha256": expected.adapter_sha256,
        "series_holes": difference.series_holes,
        "series_doubles": difference.series_doubles,
        "dead_points": difference.dead_points,
        "lost": difference.lost,
        "status": watched.status,
        "reason": watched.reason,
        "attempts": actual.attempts,
        "paused": watched.pauses,
        "seconds": round(watched.seconds, 1),
        "undisturbed_s": round(reference.seconds, 1),
        "notes": difference.notes,
    }


def _keep(bench: Bench, job: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(bench.home / "logs", folder / "logs", dirs_exist_ok=True)
    for log in (bench.home / "runs" / job).glob("*/trainer.log"):
        shutil.copy(log, folder / f"trainer-{log.parent.name}.log")
    for log in bench.folder.glob("*.log"):
        shutil.copy(log, folder)


class Suite:
    """Faults over one or more platforms side by side; the records, written after each."""

    def __init__(self, out: Path, before: Callable[[], None] = lambda: None) -> None:
        """before: called before each fault."""
        self.out, self.before = out, before
        self.records: list[Record] = []
        self._lock = threading.Lock()
        self._logs = out.with_suffix(".logs")

    def run(self, count: int, *, seed: int = 1, lanes: int = 1, only: str | None = None) -> list[Record]:
        with ExitStack() as stack:
            benches = [stack.enter_context(Bench()) for _ in range(lanes)]
            with ThreadPoolExecutor(lanes) as side_by_side:
                references = list(side_by_side.map(undisturbed, benches))
            first = references[0]
            assert len({reference.expected.adapter_sha256 for reference in references}) == 1
            catalogue = first.catalogue(benches[0], seed)
            queue: SimpleQueue[Fault] = SimpleQueue()
            for fault in chosen(catalogue, count, only):
                queue.put(fault)
            work = [
                threading.Thread(target=self._work_on, args=(bench, reference, queue), daemon=True)
                for bench, reference in zip(benches, references, strict=True)
            ]
            for thread in work:
                thread.start()
            for thread in work:
                thread.join()
        return self.records

    def run_outages(self, count: int) -> list[Record]:
        """The same jobs with an object store over HTTP that goes away for 30 s."""
        with object_store() as store, Bench(store.environment, mounts=False) as bench:
            reference = undisturbed(bench)
            steps = [p for p in reference.points if p["role"] == "trainer" and p["kind"] == "pipe"]
            kinds = {(p["label"], p["count"]): p for p in steps if p["when"] == "after"}
            for point in _spread([kinds[key] for key in sorted(kinds)], count):
                self._one(bench, reference, Fault("store_gone", (), point), (store.cut, store.restore))
        return self.records

    def _work_on(self, bench: Bench, reference: Reference, queue: "SimpleQueue[Fault]") -> None:
        while True:
            try:
                fault = queue.get_nowait()
            except Empty:
                return
            self._one(bench, reference, fault)

    def _one(self, bench: Bench, reference: Reference, fault: Fault, outage: Any = None) -> None:
        self.before()
        number = len(self.records) + 1
        try:
            record = hurt(bench, fault, reference, outage, self._logs / str(number))
        except (RuntimeError, AssertionError, OSError) as error:
            record = report.broken(fault, error)
            _keep(bench, "none", self._logs / str(number))
        with self._lock:
            self.records.append(record)
            self.out.write_text(json.dumps(self.records, indent=1))
        print(report.line(len(self.records), record), flush=True)


def chosen(catalogue: Catalogue, count: int, only: str | None) -> list[Fault]:
    if only is None:
        return catalogue.chosen(count)
    every = [*catalogue.special(), *catalogue.enumerated(), *catalogue.recovering()]
    return [fault for fault in every if re.search(only, f"{fault.label}: {fault.phase}")][:count]


def _spread(points: Sequence[Point], count: int) -> Iterator[Point]:
    for number in range(count):
        yield points[(number * len(points)) // max(count, 1)]


@contextmanager
def _timed() -> Iterator[None]:
    begin = time.monotonic()
    yield
    print(f"{time.monotonic() - begin:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="faults")
    parser.add_argument("--out", type=Path, default=Path("chaos.json"))
    parser.add_argument(
        "--seed", type=int, default=1, help="which ones, of those that the count leaves a choice of"
    )
    parser.add_argument("--lanes", type=int, default=1, help="platforms side by side")
    parser.add_argument(
        "--outages", type=int, default=0, help="further jobs whose object store goes away for 30 s"
    )
    parser.add_argument("--only", help="only faults whose name matches this expression")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops platforms and unmounts, as Ctrl-C does
    suite = Suite(options.out)
    with _timed():
        if options.count:
            suite.run(options.count, seed=options.seed, lanes=options.lanes, only=options.only)
        if options.outages:
            suite.run_outages(options.outages)
    print(report.table(suite.records))
    return 0 if all(report.passed(record) for record in suite.records) else 1


if __name__ == "__main__":
    sys.exit(main())
