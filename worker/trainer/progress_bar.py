"""Progress bar of an offline job."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from reinforge.records import BaseRecord, Ended, Evaluated, Finding, LogLine, Phase, Started, StepMetrics


class ProgressDisplay:
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[numbers]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("loading", total=None, numbers="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, record: BaseRecord) -> None:
        match record:
            case Started():
                self._bar.update(self._task, total=record.steps, completed=record.step)
            case Phase():
                self._bar.update(self._task, description=record.phase)
            case StepMetrics():
                self._bar.update(self._task, completed=record.step, numbers=_numbers(record.values))
            case Evaluated() | Ended() | Finding() | LogLine():
                if line := _line(record):
                    self._console.print(line, highlight=False, markup=False, soft_wrap=True)
            case _:
                pass


def _numbers(values: dict[str, float | None]) -> str:
    fields = (
        ("reward", "reward/mean", ".3f"),
        ("entropy", "entropy/mean", ".3f"),
        ("length", "completions/length_mean", ".1f"),
    )
    return "  ".join(f"{name} {_number(values.get(key), form)}" for name, key, form in fields)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _line(record: Evaluated | Ended | Finding | LogLine) -> str | None:
    match record:
        case LogLine():
            return record.message
        case Finding():
            return f"{record.severity}: {record.message} {record.hint or ''}".rstrip()
        case Ended():
            parts = [f"{record.outcome} after step {record.step}", record.reason, record.message, record.hint]
            return "\n".join(
                [": ".join(part for part in parts if part), *([record.traceback] if record.traceback else [])]
            )
        case _:
            return None
