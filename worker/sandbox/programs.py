"""Runs programs that a model wrote, each in its own child; expected values stay outside the jail."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worker.sandbox.daemon.calls import BadRequest, NeedsLibraries, source_too_large
from worker.sandbox.daemon.parse import ChildRun, ProtocolError, end_of_child, parse_run
from worker.sandbox.daemon.session import JailDied, Session
from worker.sandbox.jailed import region
from worker.sandbox.libraries import LOADABLE
from worker.sandbox.limits import ProgramLimits
from worker.sandbox.outcome import (
    ProgramResult,
    ProgramRun,
    ProgramsOutcome,
    ProgramStatus,
    SandboxCallStatus,
)

MAX_RUNS = 64
_MOST_SECONDS = 120.0
_TIMEOUTS = 3

_OWN_WORD: dict[str, ProgramStatus] = {
    "ok": "ok", "exception": "exception", "bad_value": "bad_value", "memory": "memory",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgramCall:
    source: str
    runs: Sequence[ProgramRun]
    limits: ProgramLimits

    @classmethod
    def from_request(cls, request: Mapping[str, Any], body: bytes) -> "ProgramCall":
        """Validate a peer's request; raises :class:`BadRequest`."""
        try:
            runs = [ProgramRun(**fields) for fields in json.loads(body)]
            limits = ProgramLimits(**request.get("limits", {}))
        except (TypeError, ValueError, RecursionError) as error:
            raise BadRequest(f"not a request to run programs: {error}") from error
        if not isinstance(request.get("source"), str) or not 0 < len(runs) <= MAX_RUNS:
            raise BadRequest(f"source must be a string, and the number of runs 1 to {MAX_RUNS}")
        return cls(request["source"], runs, limits)

    async def serve(self, session: Session, jail: str, scan: bool) -> ProgramsOutcome:
        return await run_programs(session, self, jail, scan)

    def failed(self, status: SandboxCallStatus, message: str) -> ProgramsOutcome:
        return ProgramsOutcome(status, message=message)


async def run_programs(session: Session, call: ProgramCall, jail: str, scan: bool = True) -> ProgramsOutcome:
    """Run a program for each of its runs. Raises :class:`JailDied`, and :class:`NeedsLibraries` if ``scan``
    finds imports.
    """
    end = time.monotonic() + _MOST_SECONDS
    too_large = source_too_large(call.source)
    results: list[ProgramResult] = []
    for run in call.runs:
        seconds_left = end - time.monotonic()
        if too_large:
            results.append(ProgramResult("exception", message=too_large))
        elif seconds_left <= 0 or sum(result.status == "timeout" for result in results) >= _TIMEOUTS:
            results.append(ProgramResult("skipped", message="earlier runs of the program took too long"))
        else:
            results.append(await _run(session, call, run, seconds_left, scan))
            scan = False
    return ProgramsOutcome("ok", results, jail=jail)


async def _run(
    session: Session, call: ProgramCall, run: ProgramRun, seconds_left: float, scan: bool
) -> ProgramResult:
    limits = call.limits
    request = {
        "op": "program", "source": call.source, "call": run.call, "test": run.test, "loose": run.loose, "scan": scan,
    }  # fmt: skip
    stdin = run.stdin.encode("utf-8", "replace")
    payload = await session.run_program(
        region.pack_body(json.dumps(request).encode()), stdin, limits, seconds_left
    )
    try:
        report = parse_run(payload, 0, 1, limits.output + 1)
    except ProtocolError as error:
        raise JailDied(str(error)) from error
    if report.progress == region.NOT_STARTED:
        raise JailDied("the jail could not prepare a process for a program")
    row = report.rows[0]
    if scan and report.header.state == region.NEEDS and report.clean and report.progress == region.IMPORTING:
        raise NeedsLibraries(frozenset(row.criteria if row is not None else ()) & LOADABLE)
    status, message = _ending(report, limits)
    output = report.log[: limits.output].decode("utf-8", "replace")
    return ProgramResult(
        status, output, report.prints[0], message, wall_ms=1000 * report.unit_wall, cpu_ms=1000 * report.cpu
    )


def _ending(report: ChildRun, limits: ProgramLimits) -> tuple[ProgramStatus, str | None]:
    if report.cause == region.OUTPUT_FLOOD or len(report.log) > limits.output:
        return "output_flood", f"the program wrote more than {limits.output} bytes"
    if report.cause == region.LOAD_TIMEOUT:
        return "timeout", f"reading the program took longer than {limits.wall:g} s"
    if report.cause == region.CALL_DEADLINE:
        return "timeout", f"the program took longer than {limits.wall:g} s"
    if not report.clean:
        status, message = end_of_child(report, limits.wall, limits.wall, "program")
        return status, message  # type: ignore[return-value]
    row = report.rows[0]
    if row is None or row.status not in _OWN_WORD:
        return "bad_value", "the program damaged the report of its run"
    return _OWN_WORD[row.status], row.message
