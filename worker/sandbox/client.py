"""Blocking client of the sandbox daemon."""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from worker.sandbox.limits import MAX_REQUEST_BYTES, MAX_ROWS, ProgramLimits, Timeouts
from worker.sandbox.outcome import (
    RETRIED_ROWS,
    CallOutcome,
    Granularity,
    Isolation,
    ProgramResult,
    ProgramRun,
    ProgramsOutcome,
    RewardRow,
    RowResult,
    SandboxStatus,
    Validation,
)  # fmt: skip
from worker.sandbox.transport import frames
from worker.sandbox.transport.address import Address
from worker.sandbox.transport.connection import Connection
from worker.sandbox.transport.tls import KeyFile

ROWS_PER_CALL = 16
_ROWS_PER_FAST_CALL, _CALL_SECONDS = 256, 0.1
"""Limits of one call, in rows and seconds, for rewards that score 16 rows faster than a process starts."""
_SPLIT_SECONDS = 0.012
"""CPU time of rows above which they are split into two calls, which run concurrently."""
_RUNS_PER_CALL = 16
_BYTES_PER_CALL = MAX_REQUEST_BYTES // 4
_MAX_PACES = 256
_TOOLS = "tools in a module"
"""Key of the measured speed of a source's tools; no reward function can have this name."""
_RETRY_SECONDS = 0.25

_Answer = TypeVar("_Answer")


class SandboxClient:
    def __init__(
        self, address: str | os.PathLike[str], key: KeyFile | None = None, *, patience: float = 0.0
    ) -> None:
        self._patience = patience
        self._address = Address.parse(os.fspath(address))
        if self._address.path is None and key is None:
            raise ValueError("a sandbox on another machine needs a key file")
        self._key = key
        self._jail: str | None = None
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._aborted = False
        self._paces = _Paces()
        self._lock = threading.Lock()

    def score(
        self,
        source: str,
        rows: Sequence[RewardRow],
        *,
        entry: str | None = None,
        granularity: Granularity = "sample",
        isolate: Isolation = "batch",
        timeouts: Timeouts | None = None,
    ) -> CallOutcome:
        """Score rows with a Python reward; one result per row, in the rows' order.

        entry: the function; default ``grade`` or the only one. isolate: "sample" runs each row or group in
        its own process. Raises ``ValueError`` if a row or group is too large to send.
        """
        if not rows:
            return CallOutcome("ok")
        options: dict[str, Any] = {
            "op": "score", "source": source, "entry": entry, "granularity": granularity, "isolate": isolate,
            "timeouts": asdict(timeouts or Timeouts()), "jail": self._jail,
        }  # fmt: skip
        return self._score_all(options, rows, (source, entry))

    def call_tools(
        self,
        source: str,
        calls: Sequence[Mapping[str, Any]],
        *,
        isolate: Isolation = "batch",
        timeouts: Timeouts | None = None,
    ) -> CallOutcome:
        """Call a module's tools; one result per call, in the calls' order. A result's `reason` is the tool's
        text, `message` the state or the error, `value` the reward.

        calls: as `worker.sandbox.jailed.tools` reads them; the source is executed for each. Raises
        ``ValueError`` if a call is too large to send.
        """
        if not calls:
            return CallOutcome("ok")
        options: dict[str, Any] = {
            "op": "tools", "source": source, "granularity": "sample", "isolate": isolate,
            "timeouts": asdict(timeouts or Timeouts()), "jail": self._jail,
        }  # fmt: skip
        rows = [RewardRow("", "", call) for call in calls]
        return self._score_all(options, rows, (source, _TOOLS))

    def _score_all(
        self, options: dict[str, Any], rows: Sequence[RewardRow], pace: tuple[str, str | None]
    ) -> CallOutcome:
        granularity, isolate = options["granularity"], options["isolate"]
        results: dict[int, RowResult] = {}
        remaining = list(range(len(rows)))
        while remaining:
            fixed = granularity == "batch" or isolate == "sample"
            most = ROWS_PER_CALL if fixed else self._paces.rows_per_call(pace, len(remaining))
            batches = list(_batches(rows, remaining, granularity, most or ROWS_PER_CALL))
            if most is None:  # the first call measures the reward
                batches = batches[:1]
            outcome = self._score(options, rows, batches, results)
            if outcome.status != "ok":
                return outcome
            self._paces.learn(pace, [results[i] for batch in batches for i in batch])
            remaining = [i for i in remaining if i not in results]
        if again := [i for i in range(len(rows)) if results[i].status in RETRIED_ROWS]:
            small = list(_batches(rows, again, granularity, ROWS_PER_CALL))
            outcome = self._score(options, rows, small, results)
        return replace(outcome, rows=[results[i] for i in range(len(rows))] if outcome.status == "ok" else [])

    def run_programs(
        self, source: str, runs: Sequence[ProgramRun], limits: ProgramLimits | None = None
    ) -> ProgramsOutcome:
        """Run a program that a model wrote, each run in its own process; results in the order of `runs`."""
        head = {"op": "programs", "source": source, "limits": asdict(limits or ProgramLimits())}
        parts = [runs[i : i + _RUNS_PER_CALL] for i in range(0, len(runs), _RUNS_PER_CALL)]
        outcome, results = ProgramsOutcome("ok"), dict[int, list[ProgramResult]]()
        for _ in (1, 2):
            missing = [k for k in range(len(parts)) if k not in results]
            requests = [(head, frames.pack_runs(parts[k])) for k in missing]
            outcomes = self._ask(partial(iter, requests), frames.unpack_programs)
            if isinstance(outcomes, str):
                return ProgramsOutcome("sandbox_unavailable", message=outcomes)
            results.update((k, o.results) for k, o in zip(missing, outcomes, strict=True) if o.status == "ok")
            outcome = next((o for o in outcomes if o.status != "ok"), outcomes[-1] if outcomes else outcome)
            if outcome.status != "sandbox_error":
                break
        whole = [result for k in range(len(parts)) for result in results.get(k, [])]
        return replace(outcome, results=whole if outcome.status == "ok" else [])

    def validate(self, source: str, *, entry: str | None = None) -> Validation:
        request = {"op": "validate", "source": source, "entry": entry}
        for _ in (1, 2):
            answer = self._ask(lambda: [(request, b"")], frames.unpack_validation)
            if isinstance(answer, str):
                return Validation("sandbox_unavailable", message=answer)
            (validation,) = answer
            if validation.status != "sandbox_error":
                break
        return validation

    def status(self) -> SandboxStatus:
        answer = self._ask(lambda: [({"op": "status"}, b"")], frames.unpack_status)
        return SandboxStatus(False, None, [answer]) if isinstance(answer, str) else answer[0]

    def hold_to(self, jail: str) -> None:
        """Score in this jail only, so that a run never moves to a weaker one unnoticed."""
        self._jail = jail

    def abort(self) -> None:
        with self._lock:
            self._aborted = True
            for connection in self._used:
                connection.abort()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _score(
        self,
        options: dict[str, Any],
        rows: Sequence[RewardRow],
        batches: Sequence[Sequence[int]],
        results: dict[int, RowResult],
    ) -> CallOutcome:
        pending = list(range(len(batches)))
        outcome = CallOutcome("ok")
        for attempt in (1, 2):

            def requests(numbers: list[int] = pending) -> Iterator[frames.Packed]:
                return (_request(options, [rows[i] for i in batches[k]]) for k in numbers)

            outcomes = self._ask(requests, frames.unpack_outcome)
            if isinstance(outcomes, str):
                return CallOutcome("sandbox_unavailable", message=outcomes)
            failed = []
            for k, outcome in zip(pending, outcomes, strict=True):
                if outcome.status == "sandbox_error" and attempt == 1:
                    failed.append(k)
                elif outcome.status != "ok":
                    return outcome
                else:
                    results.update(zip(batches[k], outcome.rows, strict=True))
            pending = failed
            if not pending:
                break
        return replace(outcome, status="ok", message=None, rows=[])

    def _ask(
        self,
        requests: Callable[[], Iterable[frames.Packed]],
        unpack: Callable[[dict[str, Any], bytes], _Answer],
    ) -> list[_Answer] | str:
        give_up = time.monotonic() + self._patience
        while isinstance(answers := self._ask_once(requests(), unpack), str) and self._may_retry(give_up):
            time.sleep(_RETRY_SECONDS)
        return answers

    def _may_retry(self, give_up: float) -> bool:
        return time.monotonic() < give_up and not self._aborted

    def _ask_once(
        self, requests: Iterable[frames.Packed], unpack: Callable[[dict[str, Any], bytes], _Answer]
    ) -> list[_Answer] | str:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is not None and connection.stale():
                connection.close()
                connection = None
            connection = connection or Connection(self._address, self._key)
            self._use(connection)
            answers = {number: unpack(*answer) for number, answer in connection.ask(requests)}
        except (OSError, EOFError) as error:
            self._drop(connection)
            return f"no sandbox answers on {self._address}: {error}"
        except BaseException:
            self._drop(connection)
            raise
        with self._lock:
            self._used.discard(connection)
            self._idle.append(connection)
        return [answers[number] for number in range(len(answers))]

    def _use(self, connection: Connection) -> None:
        with self._lock:
            if self._aborted:
                raise OSError("the call was cancelled")
            self._used.add(connection)

    def _drop(self, connection: Connection | None) -> None:
        if connection is not None:
            with self._lock:
                self._used.discard(connection)
            connection.close()


class _Paces:
    def __init__(self) -> None:
        self._seconds: OrderedDict[tuple[str, str | None], tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def rows_per_call(self, key: tuple[str, str | None], rows: int) -> int | None:
        with self._lock:
            pace = self._seconds.get(key)
        if pace is None:
            return None
        wall, processor = pace
        side_by_side = -(-rows // 2) if rows * processor > _SPLIT_SECONDS else rows
        most = min(int(_CALL_SECONDS / max(wall, 1e-9)), _ROWS_PER_FAST_CALL, side_by_side)
        return max(ROWS_PER_CALL, most)

    def learn(self, key: tuple[str, str | None], results: Sequence[RowResult]) -> None:
        wall = sum(result.wall_ms for result in results) / 1000 / len(results)
        processor = sum(result.cpu_ms for result in results) / 1000 / len(results)
        with self._lock:
            self._seconds[key] = wall, processor
            self._seconds.move_to_end(key)
            if len(self._seconds) > _MAX_PACES:
                self._seconds.popitem(last=False)


def _batches(
    rows: Sequence[RewardRow], indices: Sequence[int], granularity: Granularity, most: int
) -> Iterator[list[int]]:
    if granularity == "group":
        groups: dict[object, list[int]] = {}
        for i in indices:
            groups.setdefault(rows[i].group, []).append(i)
        units = list(groups.values())
    else:
        units = [[i] for i in indices]
    if most > ROWS_PER_CALL and granularity == "sample":
        most = -(-len(indices) // -(-len(indices) // most))
    batch: list[int] = []
    size = 0
    for unit in units:
        unit_size = sum(_size(rows[i]) for i in unit)
        if unit_size > MAX_REQUEST_BYTES // 2 or len(unit) > MAX_ROWS:
            raise ValueError(
                f"{len(unit)} rows of {unit_size} bytes, to be scored together, are too large for one call"
            )
        if batch and (len(batch) + len(unit) > most or size + unit_size > _BYTES_PER_CALL):
            yield batch
            batch, size = [], 0
        batch, size = batch + unit, size + unit_size
    if batch:
        yield batch


def _request(options: dict[str, Any], rows: list[RewardRow]) -> frames.Packed:
    head = {**options, "count": len(rows)}
    if options["granularity"] == "group":
        groups: dict[object, list[int]] = {}
        for i, row in enumerate(rows):
            groups.setdefault(row.group, []).append(i)
        head["units"] = list(groups.values())
    return head, frames.pack_rows(rows)


def _size(row: RewardRow) -> int:
    size = len(row.completion)
    for value in (row.prompt, row.item, row.sample, row.judges):
        if value:
            size += len(value if type(value) is str else str(value))
    return size
