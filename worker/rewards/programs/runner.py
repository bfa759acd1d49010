"""Scores a program by the share of hidden tests that it passes, each in its own sandbox process.

Expected values are compared here: a program cannot read them or overload their `==`.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from worker.rewards.programs.hidden_tests import HiddenTest, UnreadableTests, read_tests
from worker.sandbox.limits import ProgramLimits
from worker.sandbox.outcome import ProgramResult, ProgramRun, ProgramsOutcome

RunPrograms = Callable[[str, Sequence[ProgramRun], ProgramLimits], ProgramsOutcome]

_TOKENS = re.compile(r'"(?:[^"\\]|\\.?)*"?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|.', re.DOTALL)
_MAX_FAILURES = 3


@dataclass(frozen=True, slots=True)
class CodeTests:
    tests: str = "tests"
    entry: str | None = None
    code: Literal["block", "text"] = "block"
    prefix: str | None = None
    all_or_nothing: bool = False
    output: Literal["lines", "words", "exact"] = "lines"
    tolerance: float = 0.0
    in_process: Literal["leave_out", "count"] = "leave_out"
    limits: ProgramLimits = field(default_factory=ProgramLimits)


@dataclass(frozen=True, slots=True)
class CodeScore:
    """criteria: 1 or 0 for each of the first 64 tests. prints: standard error of the first failed run."""

    status: str
    value: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    criteria: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    message: str | None = None
    prints: str = ""
    wall_ms: float = 0.0
    cpu_ms: float = 0.0


def score_code(
    completion: str, item: Mapping[str, Any], settings: CodeTests, run_programs: RunPrograms
) -> CodeScore:
    if settings.tests not in item:
        return CodeScore("bad_value", message=f"the row has no column {settings.tests!r} with tests")
    try:
        tests = read_tests(item[settings.tests], _entry(item, settings))
    except UnreadableTests as error:
        return CodeScore("bad_value", message=f"the row's tests cannot be used: {error}")
    inside = sum(test.in_process is not None for test in tests)
    if settings.in_process == "leave_out":
        tests = [test for test in tests if test.in_process is None]
    if not tests:
        return CodeScore(
            "bad_value",
            message=f"none of the row's {inside} tests can be compared outside of the program's own process; "
            "set in_process: count to include them",
        )
    program = extract_code(completion, settings.code)
    if program is None:
        parts = {"passed": 0.0, "tests": float(len(tests)), "in_process": float(inside)}
        return CodeScore("ok", 0.0, parts=parts, reason="the completion has no closed code block")
    prefix = str(item.get(settings.prefix) or "") + "\n" if settings.prefix else ""
    results = _run(prefix + program, tests, settings.limits, run_programs)
    if isinstance(results, ProgramsOutcome):
        return CodeScore("sandbox_error", message=results.message or results.status)
    return _judge(tests, results, inside, settings)


def extract_code(completion: str, how: Literal["block", "text"] = "block") -> str | None:
    """The last closed code block marked Python or unmarked; with `how="text"` all text. None without code."""
    if how == "text":
        return completion if completion.strip() else None
    program: str | None = None
    block: list[str] | None = None
    kind = ""
    for line in completion.splitlines():
        mark = line.strip()
        if not mark.startswith("```"):
            if block is not None:
                block.append(line)
        elif block is None:
            block = []
            kind = mark.strip("`").strip().lower()
        else:
            if kind in ("", "python", "python3", "py"):
                program = "\n".join(block)
            block = None
    return program if program is not None and program.strip() else None


def passed(test: HiddenTest, result: ProgramResult, settings: CodeTests) -> bool:
    if result.status != "ok":
        return False
    if test.in_process is not None:
        return True
    if test.expected is not None:
        return any(_same_value(result.output, value, settings.tolerance) for value in test.expected)
    return _same_output(result.output, test.output or "", settings)


def _entry(item: Mapping[str, Any], settings: CodeTests) -> str | None:
    return str(item.get(settings.entry, settings.entry)) if settings.entry else None


def _run(
    program: str, tests: Sequence[HiddenTest], limits: ProgramLimits, run_programs: RunPrograms
) -> list[ProgramResult] | ProgramsOutcome:
    results: dict[int, ProgramResult] = {}
    by_setup: dict[str, list[int]] = {}
    for number, test in enumerate(tests):
        by_setup.setdefault(test.setup, []).append(number)
    for setup, numbers in by_setup.items():
        source = f"{program}\n{setup}" if setup else program
        outcome = run_programs(source, [_as_run(tests[number]) for number in numbers], limits)
        if outcome.status != "ok":
            return outcome
        results.update(zip(numbers, outcome.results, strict=True))
    return [results[number] for number in range(len(tests))]


def _as_run(test: HiddenTest) -> ProgramRun:
    return ProgramRun(stdin=test.stdin, call=test.call, loose=test.loose, test=test.in_process)


def _judge(
    tests: Sequence[HiddenTest], results: Sequence[ProgramResult], inside: int, settings: CodeTests
) -> CodeScore:
    verdicts = [passed(test, result, settings) for test, result in zip(tests, results, strict=True)]
    share = sum(verdicts) / len(verdicts)
    failures = [i for i, fine in enumerate(verdicts) if not fine]
    details = "; ".join(_failure(i, tests[i], results[i]) for i in failures[:_MAX_FAILURES])
    return CodeScore(
        status="ok",
        value=float(share == 1.0) if settings.all_or_nothing else share,
        parts={"passed": float(sum(verdicts)), "tests": float(len(tests)), "in_process": float(inside)},
        criteria={f"test {i + 1}": float(fine) for i, fine in enumerate(verdicts[:64])},
        reason=f"{sum(verdicts)} of {len(tests)} tests passed" + (f"; {details}" if details else ""),
        prints=results[failures[0]].notes if failures else "",
        wall_ms=sum(result.wall_ms for result in results),
        cpu_ms=sum(result.cpu_ms for result in results),
    )


def _failure(number: int, test: HiddenTest, result: ProgramResult) -> str:
    where = f"test {number + 1}" + (" (in-process)" if test.in_process is not None else "")
    if result.status != "ok":
        lines = (result.message or "").strip().splitlines()
        return f"{where}: {result.status}" + (f", {lines[0][:120]}" if lines else "")
    expected = test.expected[0] if test.expected is not None else test.output or ""
    return f"{where}: expected {expected.strip()[:80]!r}, got {result.output.strip()[:80]!r}"


def _same_output(got: str, expected: str, settings: CodeTests) -> bool:
    if settings.output == "exact":
        return got == expected
    if settings.output == "words":
        return _same_tokens(got.split(), expected.split(), settings.tolerance)
    return list(_lines(got)) == list(_lines(expected))


def _lines(text: str) -> Iterator[str]:
    return (line.rstrip() for line in text.rstrip().splitlines())


def _same_value(got: str, expected: str, tolerance: float) -> bool:
    return got == expected or (
        tolerance > 0 and _same_tokens(_TOKENS.findall(got), _TOKENS.findall(expected), tolerance)
    )


def _same_tokens(got: Sequence[str], expected: Sequence[str], tolerance: float) -> bool:
    return len(got) == len(expected) and all(
        one == other or _near(one, other, tolerance) for one, other in zip(got, expected, strict=True)
    )


def _near(one: str, other: str, tolerance: float) -> bool:
    if tolerance <= 0:
        return False
    try:
        a, b = float(one), float(other)
    except ValueError:
        return False
    # Any number is as near to infinity as the tolerance allows; equal texts were compared before.
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= tolerance * max(1.0, abs(b))
