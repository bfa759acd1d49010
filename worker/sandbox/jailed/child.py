"""The forked child: applies the last restrictions, then runs untrusted code."""

import _thread
import io
import json
import marshal
import os
import resource
import signal
import struct
import sys
import time
import traceback
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from mmap import mmap
from typing import Any, NoReturn

from . import imports, kernel, region
from .modules import execute, forget, new_module
from .programs import CALL_NAME, TEST_NAME, ProgramExit, run_program
from .programs import FILE_NAME as PROGRAM_NAME
from .reads import columns_read
from .report import Prints, Report
from .spellings import MODULE_NAME, SPELLINGS, Entry, NoReward, Row, choose_entry, find_entries, invoke
from .tools import FILE_NAME as TOOLS_NAME
from .tools import NotDeterministic, ToolModule, failure_text
from .values import BadValue, Converted, convert

FILE_NAME = "reward.py"
_TRACEBACK_FILES = (FILE_NAME, TOOLS_NAME, PROGRAM_NAME, TEST_NAME, CALL_NAME)
_PROGRESS = 3
_MAX_FRAMES = 8
_RUNNER_FAILED = 97
_REHEARSALS = 16
_REHEARSED = {"prompt": "p", "completion": "<answer> 1.5 </answer>", "item": {"answer": 1.5}}
_REHEARSAL = r"""
import re
ANSWER = re.compile(r"<answer>\s*(-?[0-9]+(?:[.][0-9]+)?)\s*</answer>", re.DOTALL)
def grade(sample, item):
    found = ANSWER.search(sample["output_text"])
    right = float(found is not None and float(found[1]) == item["answer"])
    return {"score": right, "parts": {"right": right}, "reason": f"{found and found[1]}, not {item['answer']}"}
"""
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


@dataclass(slots=True)
class Task:
    body: memoryview
    shared: mmap
    rows: int
    start: int
    budgets: Sequence[float]
    filter: bytes
    pid_hole: int
    rlimits: Mapping[str, int]
    parent: int
    libraries: Mapping[str, Sequence[str]]
    absent: Sequence[str]
    texts: region.Texts = region.REWARD_TEXTS


def run(task: Task, *, log: int, progress: int, stdin: int) -> NoReturn:
    try:
        os.dup2(stdin, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(progress, _PROGRESS)
        os.closerange(_PROGRESS + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        kernel.die_with_parent(task.parent)
        kernel.apply_rlimits(task.rlimits)
        hole = struct.pack("<I", task.pid_hole)
        kernel.install_filter(task.filter.replace(hole, struct.pack("<I", os.getpid())))
        report = Report(task.shared, task.rows, task.texts)
        request = _read(task.body)
        os.write(_PROGRESS, b"i")
        if request["op"] == "program":
            _program(task, request, report)
        else:
            _capture_prints(report)
            _serve(task, request, report)
        report.finish()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - nothing may escape into the zygote's own frames
        os.write(2, traceback.format_exc(limit=4).encode("utf-8", "replace")[:2000])
    finally:
        os._exit(_RUNNER_FAILED)


def _read(body: memoryview) -> dict[str, Any]:
    (size,) = region.BODY.unpack_from(body)
    start = region.BODY.size
    request: dict[str, Any] = json.loads(str(body[start : start + size], "utf-8"))
    if len(body) > start + size:
        request["rows"] = marshal.loads(body[start + size :])
    return request


def rehearse() -> None:
    """Run once in the zygote all that a child does, because the first execution is slow."""
    request = json.loads(
        json.dumps({"rows": [_REHEARSED] * _REHEARSALS, "isolate": "batch", "granularity": "sample"})
    )
    request["units"] = [[i] for i in range(_REHEARSALS)]
    with mmap(-1, region.region_size(_REHEARSALS)) as shared:
        entry = choose_entry(_load(_REHEARSAL), None)
        budgets = [60.0] * _REHEARSALS
        task = Task(memoryview(b""), shared, _REHEARSALS, 0, budgets, b"", 0, {}, 0, {}, ())
        report = Report(shared, _REHEARSALS)
        _score(task, request, entry, report)
        report.finish()
    forget(FILE_NAME, MODULE_NAME)


def describe(error: BaseException) -> tuple[str, int | None, int | None]:
    try:
        return _describe(error)
    except BaseException:  # noqa: BLE001 - each attribute of an error may be the reward's code too
        return "an exception that could not be described", None, None


def _describe(error: BaseException) -> tuple[str, int | None, int | None]:
    try:
        text = f"{type(error).__name__[:200]}: {error}"[:1000]
    except BaseException:  # noqa: BLE001 - __str__ is the reward's code too
        text = "an exception whose text could not be rendered"
    if isinstance(error, NoReward | BadValue | ProgramExit | NotDeterministic):
        return str(error), None, None
    if isinstance(error, imports.ModuleNotAllowed):
        return str(error), error.line, None
    if isinstance(error, SyntaxError) and error.filename in _TRACEBACK_FILES:
        source_line = (error.text or "").strip()[:200]
        return (
            f"{type(error).__name__}: {error.msg}: {source_line}",
            _place(error.lineno),
            _place(error.offset),
        )
    frames = [
        f for f in traceback.extract_tb(error.__traceback__, limit=-40) if f.filename in _TRACEBACK_FILES
    ]
    lines = [f"  line {f.lineno}, in {f.name[:100]}: {(f.line or '')[:200]}" for f in frames[-_MAX_FRAMES:]]
    return "\n".join([text, *lines]), _place(frames[-1].lineno) if frames else None, None


def _place(number: object) -> int | None:
    return number if type(number) is int and 0 < number < 1 << 20 else None


def _capture_prints(report: Report) -> None:
    stream = io.TextIOWrapper(
        Prints(report, fallback=1),  # type: ignore[type-var]
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
        write_through=True,
    )
    sys.stdout = sys.stderr = stream
    sys.stdin = io.StringIO()
    sys.argv = [FILE_NAME]


def _serve(task: Task, request: Mapping[str, Any], report: Report) -> None:
    try:
        if request["scan"] and _needs_libraries(task, request["source"], report):
            return
        entry = _prepare(request, report)
        if entry is None:
            return
    except BaseException as error:  # noqa: BLE001 - importing a reward runs its code
        report.load_failed(*describe(error))
        return
    report.begin(task.start, request["units"][task.start][0])
    os.write(_PROGRESS, b"l")
    os.close(_PROGRESS)
    _score(task, request, entry, report)


def _prepare(request: Mapping[str, Any], report: Report) -> Entry | ToolModule | None:
    """Load the reward or tools to call; None if the request is already answered."""
    if request["op"] == "tools":
        return ToolModule(request["source"])
    namespace = _load(request["source"])
    if request["op"] == "validate":
        _report_entries(namespace, request, report)
        return None
    return choose_entry(namespace, request.get("entry"))


def _program(task: Task, request: Mapping[str, Any], report: Report) -> None:
    if request["scan"] and (named := imports.scan(request["source"], task.libraries)[0]):
        report.needs(named)
        return
    report.begin(0, 0)
    os.write(_PROGRESS, b"l")
    os.close(_PROGRESS)
    try:
        run_program(request, report)
    except BadValue as error:
        report.row(0, "bad_value", message=str(error))
    except BaseException as error:  # noqa: BLE001 - a failing program is data
        report.row(0, _status_of(error), message=describe(error)[0])
    else:
        report.row(0, "ok")


def _needs_libraries(task: Task, source: str, report: Report) -> bool:
    named, stranger = imports.scan(source, task.libraries)
    if stranger is not None:
        imports.refuse(stranger, task.libraries, task.absent)
    if named:
        report.needs(named)
    return bool(named)


def _load(source: str) -> dict[str, object]:
    module = new_module(MODULE_NAME)
    execute(source, FILE_NAME, module)
    return module.__dict__


def _report_entries(namespace: Mapping[str, object], request: Mapping[str, Any], report: Report) -> None:
    name = request.get("entry")
    entries = [choose_entry(namespace, name)] if name is not None else find_entries(namespace)
    if not entries:
        entries = [choose_entry(namespace, None)]
    entries = [e for e in entries if len(e.name.encode()) <= region.NAME_BYTES][: region.MAX_PARTS]
    spellings = {e.name: float(SPELLINGS.index(e.spelling)) for e in entries}
    lines = {e.name: float(_line_of(e)) for e in entries}
    report.begin(0, 0)
    report.row(0, "ok", value=Converted(parts=spellings, criteria=lines), message=_columns(request, entries))
    os.write(_PROGRESS, b"l")


def _columns(request: Mapping[str, Any], entries: Sequence[Entry]) -> str:
    try:
        text = json.dumps(columns_read(request["source"], entries))
    except Exception:  # noqa: BLE001 - what cannot be read is not known; the source has loaded all the same
        return ""
    return text if len(text) <= region.MESSAGE_BYTES else ""


def _line_of(entry: Entry) -> int:
    code = getattr(entry.function, "__code__", None)
    return code.co_firstlineno if isinstance(code, types.CodeType) and code.co_filename == FILE_NAME else 0


def _score(task: Task, request: Mapping[str, Any], entry: Entry | ToolModule, report: Report) -> None:
    rows, units = request["rows"], request["units"]
    stop = task.start + 1 if request["isolate"] == "sample" else len(units)
    threads, single = _thread._count(), request["granularity"] == "sample"
    for unit in range(task.start, stop):
        began = report.begin(unit, units[unit][0])
        first = unit == task.start
        if isinstance(entry, ToolModule):
            odd = _call_tool(entry, rows, unit, report, began, first=first)
        else:
            odd = _score_unit(entry, rows, units[unit], single, report, began, first=first)
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        slow = time.monotonic() - began[0] > task.budgets[unit] / 4
        if odd or slow or _thread._count() > threads:
            return


def _score_unit(
    entry: Entry,
    rows: Sequence[Row],
    members: Sequence[int],
    single: bool,
    report: Report,
    began: tuple[float, float],
    *,
    first: bool,
) -> bool:
    answers: list[object] = []
    failure, odd = None, False
    try:
        answers = invoke(entry, [rows[i] for i in members], single=single)
    except BaseException as error:  # noqa: BLE001 - a failing reward is data
        odd = not isinstance(error, Exception) or isinstance(error, MemoryError | RecursionError)
        if isinstance(error, MemoryError) and not first:
            return True
        failure = (_status_of(error), describe(error)[0])
        del error
    wall, cpu = time.monotonic() - began[0], time.thread_time() - began[1]
    wall, cpu = wall / len(members), cpu / len(members)
    for position, row in enumerate(members):
        if failure is not None:
            report.row(row, failure[0], message=failure[1], wall=wall, cpu=cpu)
        else:
            _report_answer(row, answers[position], report, wall, cpu)
    return odd


def _report_answer(row: int, answer: object, report: Report, wall: float, cpu: float) -> None:
    try:
        value = convert(answer)
    except BadValue as error:
        report.row(row, "bad_value", message=str(error), wall=wall, cpu=cpu)
    except BaseException as error:  # noqa: BLE001 - a returned object may run code while it is looked at
        report.row(row, _status_of(error), message=describe(error)[0], wall=wall, cpu=cpu)
    else:
        report.row(row, "ok" if value.applicable else "not_applicable", value=value, wall=wall, cpu=cpu)


def _call_tool(
    tools: ToolModule,
    rows: Sequence[Row],
    row: int,
    report: Report,
    began: tuple[float, float],
    *,
    first: bool,
) -> bool:
    status, value, text, odd = "ok", Converted(), "", False
    try:
        answer = tools.answer(rows[row]["item"])
        status, text = "not_applicable" if answer.none else "ok", answer.state
        value = Converted(score=answer.value, reason=answer.text)
    except BaseException as error:  # noqa: BLE001 - a failing tool is data
        odd = not isinstance(error, Exception) or isinstance(error, MemoryError | RecursionError)
        if isinstance(error, MemoryError) and not first:
            return True
        status = "bad_value" if isinstance(error, BadValue) else _status_of(error)
        differs = {"differs": 1.0} if isinstance(error, NotDeterministic) else {}
        value, text = Converted(reason=failure_text(error), criteria=differs), describe(error)[0]
        del error
    wall, cpu = time.monotonic() - began[0], time.thread_time() - began[1]
    report.row(row, status, value=value, message=text, wall=wall, cpu=cpu)
    return odd


def _status_of(error: BaseException) -> str:
    return "memory" if isinstance(error, MemoryError) else "exception"
