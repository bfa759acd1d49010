"""Calls of rewards and tools: rows in, one result per row out."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worker.sandbox.daemon.parse import (
    ChildRun,
    ProtocolError,
    clean_text,
    end_of_child,
    parse_columns,
    parse_run,
)
from worker.sandbox.daemon.session import JailDied, Session
from worker.sandbox.jailed import region
from worker.sandbox.jailed.spellings import SPELLINGS
from worker.sandbox.libraries import LOADABLE
from worker.sandbox.limits import MAX_CASUALTIES, MAX_ROWS, MAX_SOURCE_BYTES, Timeouts
from worker.sandbox.outcome import (
    CallOutcome,
    EntryPoint,
    RowResult,
    RowStatus,
    SandboxCallStatus,
    Validation,
)


class BadRequest(Exception):
    pass


@dataclass(frozen=True, slots=True)
class ScoringCall:
    operation: str
    source: str
    entry: str | None
    rows: bytes
    units: Sequence[Sequence[int]]
    granularity: str
    isolate: str
    timeouts: Timeouts

    @classmethod
    def from_request(cls, request: Mapping[str, Any], body: bytes = b"") -> "ScoringCall":
        """Validate a peer's request; raises :class:`BadRequest`."""
        operation, count = request["op"], request.get("count")
        granularity, isolate = request.get("granularity", "sample"), request.get("isolate", "batch")
        if operation == "validate":
            count = 1
        if operation == "tools":
            granularity = "sample"
        if not isinstance(request.get("source"), str) or not isinstance(count, int):
            raise BadRequest("source must be a string and count an integer")
        if granularity not in ("sample", "group", "batch") or isolate not in ("batch", "sample"):
            raise BadRequest(f"unknown granularity {granularity!r} or isolation {isolate!r}")
        if not 0 < count <= MAX_ROWS:
            raise BadRequest(f"a call must have 1 to {MAX_ROWS} rows, not {count}")
        try:
            timeouts = Timeouts(**request.get("timeouts", {}))
        except (TypeError, ValueError) as error:
            raise BadRequest(str(error)) from error
        units = _units(count, granularity, request.get("units"))
        entry = request.get("entry")
        return cls(operation, request["source"], entry, body, units, granularity, isolate, timeouts)

    @property
    def count(self) -> int:
        return sum(map(len, self.units))

    def body(self, scan: bool) -> bytes:
        request = {
            "op": self.operation, "source": self.source, "entry": self.entry, "units": self.units,
            "granularity": self.granularity, "isolate": self.isolate, "scan": scan,
        }  # fmt: skip
        return region.pack_body(json.dumps(request).encode(), self.rows)

    async def serve(self, session: Session, jail: str, scan: bool) -> CallOutcome | Validation:
        """Score the call. Raises :class:`JailDied`, and :class:`NeedsLibraries` if ``scan`` finds imports."""
        if self.operation == "validate":
            return await validate(session, self, scan)
        return await score(session, self, jail, scan)

    def failed(self, status: SandboxCallStatus, message: str) -> CallOutcome | Validation:
        if self.operation == "validate":
            return Validation(status, message=message)
        return CallOutcome(status, message=message)

    @property
    def texts(self) -> region.Texts:
        return region.TOOL_TEXTS if self.operation == "tools" else region.REWARD_TEXTS

    @property
    def what(self) -> str:
        return "tool" if self.operation == "tools" else "reward"

    def budgets(self) -> list[float]:
        return [min(self.timeouts.sample * len(unit), self.timeouts.call) for unit in self.units]


class NeedsLibraries(Exception):
    def __init__(self, modules: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(modules)))
        self.modules = modules


class RewardLoadFailed(Exception):
    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line, self.column = line, column


@dataclass(slots=True)
class _Progress:
    results: list[RowResult | None]
    log: bytes = b""
    casualties: int = 0
    end: float = 0.0


async def score(session: Session, call: ScoringCall, jail: str, scan: bool = True) -> CallOutcome:
    """After :class:`JailDied`, kill the session."""
    progress = _Progress([None] * call.count, end=time.monotonic() + call.timeouts.call)
    too_large = source_too_large(call.source)
    if too_large:
        return CallOutcome("load_error", message=too_large, jail=jail)
    try:
        await _run_all(session, call, progress, scan)
    except RewardLoadFailed as error:
        return CallOutcome(
            "load_error", message=str(error), line=error.line, log=clean_text(progress.log), jail=jail
        )
    results = [
        r if r is not None else RowResult("skipped", message="the call ended before this row")
        for r in progress.results
    ]
    return CallOutcome("ok", rows=results, log=clean_text(progress.log), jail=jail)


async def validate(session: Session, call: ScoringCall, scan: bool = True) -> Validation:
    too_large = source_too_large(call.source)
    if too_large:
        return Validation("load_error", message=too_large)
    log = ""
    try:
        run = await _begin(session, call, call.timeouts.call, scan)
        session.forget()
        log = clean_text(run.log)
        row = run.rows[0]
        _check_loaded(run, call)
        if not run.clean or row is None or row.status != "ok":
            raise RewardLoadFailed(f"importing the module failed: {end_of_child(run, 0, 0)[1]}")
    except RewardLoadFailed as error:
        return Validation("load_error", message=str(error), line=error.line, column=error.column, log=log)
    columns = parse_columns(row.message)
    entries = [
        EntryPoint(name, SPELLINGS[int(x)], int(row.criteria.get(name, 0)) or None, columns.get(name, []))
        for name, x in row.parts.items()
        if x in range(len(SPELLINGS))
    ]
    return Validation("ok", entries=entries, log=log)


def source_too_large(source: str) -> str | None:
    size = len(source.encode("utf-8", "replace"))
    return f"the source has {size} bytes, more than {MAX_SOURCE_BYTES}" if size > MAX_SOURCE_BYTES else None


def _units(count: int, granularity: str, units: object) -> list[list[int]]:
    if granularity == "batch":
        return [list(range(count))]
    if granularity == "sample":
        return [[i] for i in range(count)]
    if not isinstance(units, list) or not all(isinstance(unit, list) and unit for unit in units):
        raise BadRequest("units must be lists of row numbers")
    numbers = [number for unit in units for number in unit]
    if not all(type(number) is int for number in numbers) or sorted(numbers) != list(range(count)):
        raise BadRequest("units must contain each row number exactly once")
    return units


async def _run_all(session: Session, call: ScoringCall, progress: _Progress, scan: bool) -> None:
    unit = 0
    while unit < len(call.units):
        seconds_left = progress.end - time.monotonic()
        if seconds_left <= 0:
            text = f"the {call.what} call exceeded its time limit of {call.timeouts.call:g} s"
            _mark(call, progress, range(unit, len(call.units)), "deadline", text)
            break
        if unit == 0:
            run = await _begin(session, call, seconds_left, scan)
        else:
            run = _parse(await session.resume(unit, call.count, seconds_left, call.texts), unit, call)
        progress.log = (progress.log + run.log)[: region.LOG_BYTES]
        _check_loaded(run, call)
        unit = _take(run, unit, call, progress)
        if progress.casualties >= MAX_CASUALTIES:
            _mark(call, progress, range(unit, len(call.units)), "skipped", "too many failures in this call")
            break
    session.forget()


async def _begin(session: Session, call: ScoringCall, seconds_left: float, scan: bool) -> ChildRun:
    payload = await session.begin(
        call.body(scan), call.count, call.budgets(), call.timeouts, seconds_left, call.texts
    )
    run = _parse(payload, 0, call)
    if scan and run.header.state == region.NEEDS and run.clean and run.progress == region.IMPORTING:
        named = run.rows[0].criteria if run.rows[0] is not None else {}
        raise NeedsLibraries(frozenset(named) & LOADABLE)
    return run


def _parse(payload: bytes, unit: int, call: ScoringCall) -> ChildRun:
    try:
        return parse_run(payload, unit, call.count, texts=call.texts)
    except ProtocolError as error:
        raise JailDied(str(error)) from error


def _check_loaded(run: ChildRun, call: ScoringCall) -> None:
    """Check that the zygote saw the module's import end, which untrusted code cannot forge."""
    if run.progress == region.NOT_STARTED:
        log_lines = clean_text(run.log).strip().splitlines()
        raise JailDied(
            "the jail could not prepare a process" + (f": {log_lines[-1][:300]}" if log_lines else "")
        )
    if run.progress == region.RUNNING:
        return
    row = run.rows[0]
    if run.header.state == region.LOAD_FAILED and run.clean and row is not None and row.message:
        raise RewardLoadFailed(row.message, run.header.line or None, run.header.column or None)
    if run.cause == region.LOAD_TIMEOUT:
        raise RewardLoadFailed(f"importing the module took longer than {call.timeouts.load:g} s")
    raise RewardLoadFailed(f"importing the module failed: {end_of_child(run, 0, call.timeouts.call)[1]}")


def _take(run: ChildRun, start: int, call: ScoringCall, progress: _Progress) -> int:
    unit = start
    last = start + 1 if call.isolate == "sample" else len(call.units)
    while unit < last and all(run.rows[i] is not None for i in call.units[unit]):
        for i in call.units[unit]:
            progress.results[i] = run.rows[i]
        unit += 1
    if (run.clean and unit > start) or unit == len(call.units):
        return unit
    budget = call.budgets()[min(unit, len(call.units) - 1)]
    status, text = end_of_child(run, budget, call.timeouts.call, call.what)
    if unit > start and (unit == last or status not in ("deadline", "output_flood")):
        return unit
    progress.casualties += 1
    wall, cpu = 1000 * run.unit_wall, 1000 * max(run.cpu - _clamp(run.header.cpu_started, run.cpu), 0.0)
    for i in call.units[unit]:
        share = len(call.units[unit])
        lost = RowResult(status, message=text, prints=run.prints[i], wall_ms=wall / share, cpu_ms=cpu / share)
        progress.results[i] = lost
    return unit + 1


def _clamp(value: float, most: float) -> float:
    return min(value, most) if value > 0 else 0.0


def _mark(call: ScoringCall, progress: _Progress, units: range, status: RowStatus, text: str) -> None:
    for unit in units:
        for i in call.units[unit]:
            progress.results[i] = RowResult(status, message=text)
