"""Live display of a job on a terminal; without a terminal, one line per step."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from reinforge.cli.output import duration, err, number
from reinforge.client import Reinforge
from reinforge.client.shared import RESTS
from reinforge.schemas.jobs import JobDetail, JobEvent

BARS = "▁▂▃▄▅▆▇█"
CURVES = (
    ("reward/mean", "reward", "", 3),
    ("entropy/mean", "entropy", "nat", 3),
    ("completions/length_mean", "length", "tokens", 1),
)


def sparkline(values: list[float], width: int = 32) -> str:
    """Block characters that chart the last `width` values, scaled from the lowest to the highest."""
    values = values[-width:]
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = high - low
    return "".join(BARS[round((v - low) / span * (len(BARS) - 1)) if span else 0] for v in values)


class JobView:
    def __init__(self, job: JobDetail, page: str) -> None:
        self.job, self.page = job, page
        self.series: dict[str, list[float]] = {}
        self.held_out: list[tuple[int, float]] = []
        self.step, self.phase = job.progress.step, job.progress.phase
        self.status, self.steps = str(job.status), job.progress.steps
        self.step_seconds: list[float] = []
        self.notes: list[str] = []
        self.started = time.monotonic()

    def apply(self, event: JobEvent) -> bool:
        """Update the view; True if the event completed a step."""
        data = event.data
        if event.type == "metrics" and data.get("kind") == "train":
            self.step = data["step"]
            for key, value in data["values"].items():
                if value is not None:
                    self.series.setdefault(key, []).append(value)
            return True
        if event.type == "metrics":
            value = data["values"].get("held_out/reward_mean")
            if value is not None:
                self.held_out.append((data["step"], value))
        elif event.type == "phase":
            done, total = data.get("done"), data.get("total")
            self.phase = data["phase"] + (f" {done}/{total}" if done is not None and total else "")
        elif event.type == "status":
            self.status = data.get("status", self.status)
            self.phase = self.phase if self.status == "running" else None
        elif event.type == "rewind":
            self._rewind(data["to_step"])
        elif event.type == "finding" or (event.type == "log" and data.get("level") in ("warning", "error")):
            self.notes.append(str(data.get("message", "")))
        return False

    def _rewind(self, to_step: int) -> None:
        self.step = to_step
        self.series = {key: values[:to_step] for key, values in self.series.items()}
        self.held_out = [(step, value) for step, value in self.held_out if step <= to_step]

    def eta(self) -> str:
        seconds = sorted(self.series.get("time/step", [])[-20:])
        left = self.steps - self.step
        if not seconds or left <= 0 or self.status != "running":
            return ""
        low, middle, high = (seconds[int(q * (len(seconds) - 1))] for q in (0.1, 0.5, 0.9))
        return f"about {duration(middle * left)} left ({duration(low * left)}–{duration(high * left)})"

    def line(self) -> str:
        parts = [f"step {self.step}/{self.steps}"]
        for key, title, unit, digits in CURVES:
            parts.append(f"{title} {number(self.series.get(key, [None])[-1], digits)} {unit}".rstrip())
        if self.held_out:
            parts.append(f"held-out {self.held_out[-1][1]:.3f}")
        return "  ".join(parts)

    def __rich__(self) -> RenderableType:
        head = Text.assemble((self.job.name or self.job.id, "bold"), f"  {self.status}", style="")
        progress = Table.grid(padding=(0, 1))
        progress.add_row(
            ProgressBar(total=max(1, self.steps), completed=self.step, width=40),
            f"step {self.step} of {self.steps}",
            Text(self.phase or "", style="dim"),
            self.eta(),
        )
        figures = Table.grid(padding=(0, 2))
        for key, title, unit, digits in CURVES:
            values = self.series.get(key, [])
            if values:
                change = f"{number(values[0], digits)} → {number(values[-1], digits)} {unit}"
                figures.add_row(title, change, Text(sparkline(values), style="cyan"))
        if self.held_out:
            points = " → ".join(f"{value:.3f}" for _, value in self.held_out[-6:])
            figures.add_row("held-out", points, Text("reward on rows that are never trained on", style="dim"))
        notes = [Text(f"! {note[:200]}", style="yellow") for note in self.notes[-3:]]
        return Group(head, progress, figures, *notes, Text(self.page, style="dim"))


def follow(
    client: Reinforge, id: str, *, quiet: bool = False, timeout: float | None = None, console: Console = err
) -> JobDetail:
    """Show a job until it is finished or paused. Raises TimeoutError after `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    job = client.jobs.get(id)
    if quiet:
        return client.jobs.wait(id, timeout=timeout)
    view = JobView(job, f"{client.base_url}/jobs/{id}")
    events = client.jobs.stream(id) if deadline is None else until(deadline, client.jobs.stream(id))
    if console.is_terminal:
        _live(view, events, console)
    else:
        _lines(view, events, console)
    return client.jobs.get(id) if job.status not in RESTS else job


def until(deadline: float, events: Iterable[JobEvent]) -> Iterator[JobEvent]:
    """Yield events, read by a thread, until `deadline` (`time.monotonic`); then raise TimeoutError."""
    arrived: queue.Queue[JobEvent | Exception | None] = queue.Queue()

    def read() -> None:
        try:
            for event in events:
                arrived.put(event)
            arrived.put(None)
        except Exception as error:  # noqa: BLE001 - raised again where the events are read
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    while (left := deadline - time.monotonic()) > 0:
        try:
            event = arrived.get(timeout=left)
        except queue.Empty:
            break
        if event is None:
            return
        if isinstance(event, Exception):
            raise event
        yield event
    raise TimeoutError


def _live(view: JobView, events: Iterable[JobEvent], console: Console) -> None:
    with Live(view, console=console, refresh_per_second=4) as live:
        for event in events:
            view.apply(event)
            live.update(view)


def _lines(view: JobView, events: Iterable[JobEvent], console: Console) -> None:
    phase = None
    for event in events:
        if view.apply(event):
            console.print(view.line(), markup=False, soft_wrap=True)
        elif event.type == "status":
            console.print(f"{view.job.id} is {view.status}", markup=False, soft_wrap=True)
        elif event.type == "phase" and view.step == 0 and event.data["phase"] != phase:
            phase = event.data["phase"]
            console.print(phase, markup=False)
