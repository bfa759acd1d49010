"""Many small jobs through the real offline trainer, a few at a time, with one sandbox daemon for all.

Every run is a process of its own (`python -m worker.trainer.main --offline`) with one torch thread. A finished run
becomes one
line of `<folder>/runs.jsonl`, also when it failed; `run_all` on the same folder does only what has no line yet. Seconds
are comparable only where nobody stopped the processes in between.
"""

import fcntl
import functools
import hashlib
import json
import queue
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from common.folder import Folder, Series, Split
from common.forks import Forks
from reinforge.offline.train import prepare, sandbox
from reinforge.spec import JobSpec
from worker.starter import CHECKPOINT

ROOT = Path(__file__).resolve().parents[2]
POLL = 0.4
"""Seconds between two looks at a run's metrics."""
DIGITS = 6
"""Significant digits of stored values."""


@dataclass(frozen=True, slots=True)
class StopRule:
    """End a run early: at its `in_a_row`-th value in succession of at least `at_least`."""

    at_least: float
    in_a_row: int = 2
    metric: str = "held_out/reward_mean"
    split: Split = "held_out"

    def reached(self, values: Sequence[float | None]) -> bool:
        """`values` oldest first. A missing value breaks a row of good ones."""
        row = 0
        for value in values:
            row = row + 1 if value is not None and value >= self.at_least else 0
            if row >= self.in_a_row:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Run:
    """One job to run. `name` and `seed` together name it; a spec that changed makes it a new one."""

    name: str
    seed: int
    spec: dict[str, Any]
    """A raw `JobSpec`; `seed` is put into it. Paths are absolute."""
    stop: StopRule | None = None
    read: Callable[[Folder], dict[str, Any]] | None = None
    """Takes what else is wanted (texts, say) out of the run folder before that is deleted; goes into `extra`."""

    @property
    def digest(self) -> str:
        rule = asdict(self.stop) if self.stop else None
        text = json.dumps([self.spec, rule], sort_keys=True).replace(str(ROOT), "")
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What is kept of a run."""

    name: str
    seed: int
    digest: str
    outcome: str
    """`succeeded`, `stopped` (by the stop rule), or what the trainer's last record said; `crashed` without one."""
    cause: str | None = None
    """Why it failed: code, message and the end of the trainer's log."""
    step: int = 0
    """Completed steps."""
    train: Series = field(default_factory=Series)
    held_out: Series = field(default_factory=Series)
    seconds: float = 0.0
    """Wall time of the whole process, start-up and evaluations included."""
    memory_gib: float | None = None
    """Largest resident size of the trainer."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    """What detectors noticed: code, step, message."""
    extra: dict[str, Any] = field(default_factory=dict)
    checkpoint: str = ""
    """Of the starter model, where the run trained it: the beginning of its weights' SHA-256."""

    @property
    def ok(self) -> bool:
        return self.outcome in ("succeeded", "stopped")

    def to_json(self) -> str:
        return json.dumps(rounded(asdict(self)), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> "Result":
        fields = json.loads(line)
        return cls(
            **fields | {"train": Series(**fields["train"]), "held_out": Series(**fields["held_out"])},
        )


def stored(folder: Path) -> dict[tuple[str, int], Result]:
    """Results in a folder by (name, seed); of several the latest."""
    path = folder / "runs.jsonl"
    if not path.exists():
        return {}
    results = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            result = Result.from_json(line)
        except ValueError:  # cut off by a kill: this run has no result
            continue
        results[result.name, result.seed] = result
    return results


def run_all(
    runs: Sequence[Run],
    into: Path,
    *,
    jobs: int = 2,
    keep: bool = False,
    retry: bool = False,
    one_core: bool = True,
    describe: Callable[[Result], str] | None = None,
) -> list[Result]:
    """Run what `into` has no result of, `jobs` at a time, in order; the results of all `runs`, in their order.

    `keep` leaves the run folders in `into/runs`; `retry` runs failed ones again; `one_core` keeps each trainer to
    one; `describe` adds to a run's line on the terminal. An interrupt ends the runs under way without a result.
    """
    into.mkdir(parents=True, exist_ok=True)
    names = [(run.name, run.seed) for run in runs]
    if len(set(names)) != len(names):
        raise ValueError(f"two runs of one name and seed: {sorted(n for n in names if names.count(n) > 1)}")
    existing = stored(into)
    waiting: queue.SimpleQueue[Run] = queue.SimpleQueue()
    for run in runs:
        have = existing.get((run.name, run.seed))
        if have is None or have.digest != run.digest or (retry and not have.ok):
            waiting.put(run)
    if waiting.empty():
        return [existing[name] for name in names]
    with (
        _alone(into),
        tempfile.TemporaryDirectory(prefix="rf-") as short,
        sandbox(Path(short) / "s.sock", into),
        Forks(one_core=one_core) as forks,
        (into / "runs.jsonl").open("a", encoding="utf-8") as lines,
        _bar(len(runs), len(runs) - waiting.qsize()) as finished,
    ):
        driver = _Driver(
            forks, Path(short) / "s.sock", into / "runs", keep, waiting, lines, finished, describe
        )
        driver.run(jobs)
    existing = stored(into)
    return [existing[name] for name in names]


@contextmanager
def _alone(into: Path) -> Iterator[None]:
    """A second driver in the same folder would end the first one's sandbox. Raises RuntimeError."""
    with (into / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(f"another process runs jobs in {into}: wait for its end") from None
        yield


class _Driver:
    """Threads that take runs from one queue; each waits for a process."""

    def __init__(
        self,
        forks: Forks,
        socket: Path,
        work: Path,
        keep: bool,
        waiting: "queue.SimpleQueue[Run]",
        lines: TextIO,
        finished: Callable[[str], None],
        describe: Callable[[Result], str] | None,
    ) -> None:
        self.forks, self.socket, self.work, self.keep = forks, socket, work, keep
        self.waiting, self.lines, self.finished, self.describe = waiting, lines, finished, describe
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.failure: Exception | None = None

    def run(self, jobs: int) -> None:
        threads = [threading.Thread(target=self._take, name=f"runs-{number}") for number in range(jobs)]
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            self.stopping.set()
            for thread in threads:
                thread.join()
            signal.signal(signal.SIGTERM, before)
        if self.failure is not None:
            raise self.failure

    def _take(self) -> None:
        try:
            while not self.stopping.is_set():
                try:
                    run = self.waiting.get_nowait()
                except queue.Empty:
                    return
                result = self._one(run)
                if result is None:
                    continue
                if result.cause and result.cause.startswith("sandbox_unavailable"):
                    # Nothing about this run: the next call does it, and those behind it would end the same way.
                    raise RuntimeError(
                        f"the sandbox daemon is gone, see {self.work.parent}/logs: {result.cause}"
                    )
                self._store(result)
        except Exception as error:  # noqa: BLE001 - raised again by `run`
            self.failure = error
            self.stopping.set()

    def _store(self, result: Result) -> None:
        line = f"{result.name} seed {result.seed}: {result.outcome} after step {result.step}, {result.seconds:.0f} s"
        if self.describe and result.ok:
            line += f", {self.describe(result)}"
        with self.lock:
            # A line of its own, also after one that a kill has cut off; empty ones do no harm.
            self.lines.write(f"\n{result.to_json()}\n")
            self.lines.flush()
            self.finished("\n".join(filter(None, (line, result.cause))))

    def _one(self, run: Run) -> Result | None:
        """None when interrupted."""
        path = self.work / f"{run.name}-{run.seed}".replace("/", "-")
        shutil.rmtree(path, ignore_errors=True)
        try:
            prepare(JobSpec.model_validate(run.spec | {"seed": run.seed}), path, self.socket)
        except Exception as error:  # noqa: BLE001 - a specification that is refused is this run's result
            cause = f"{type(error).__name__}: {error}"
            return Result(name=run.name, seed=run.seed, digest=run.digest, outcome="refused", cause=cause)
        try:
            began = time.monotonic()
            stopped = self._process(run, path)
            if stopped is None:
                return None
            return result_of(run, Folder(path), stopped=stopped, seconds=time.monotonic() - began)
        finally:
            if not self.keep:
                shutil.rmtree(path, ignore_errors=True)

    def _process(self, run: Run, path: Path) -> bool | None:
        """Wait for the trainer to end; whether the stop rule ended it, None when interrupted."""
        trainer = self.forks.start(path)
        stopped, size = False, 0
        try:
            while not trainer.wait(POLL):
                if self.stopping.is_set():
                    trainer.send(signal.SIGKILL)
                    trainer.wait(60)
                    return None
                metrics = path / "metrics.jsonl"
                now = metrics.stat().st_size if metrics.exists() else 0
                if run.stop and not stopped and now != size:
                    size = now
                    if run.stop.reached(Folder(path).series(run.stop.split)[run.stop.metric]):
                        trainer.send(signal.SIGTERM)  # it ends after the step under way
                        stopped = True
        finally:
            trainer.close()
        return stopped


def result_of(run: Run, folder: Folder, *, stopped: bool, seconds: float) -> Result:
    """What a run folder says of its run."""
    train = folder.series("train")
    ended = next(iter(folder.records("ended")[-1:]), None)
    outcome, cause, extra = "crashed", None, {}
    if ended is not None:
        outcome = "stopped" if stopped and ended["outcome"] == "paused" else ended["outcome"]
    if outcome not in ("succeeded", "stopped"):
        output = (
            ": ".join(str(ended[key]) for key in ("reason", "message") if ended[key])
            if ended
            else "no last record"
        )
        cause = f"{output}\n{_tail(folder.path / 'trainer.log')}".strip()
    elif run.read is not None:
        try:
            extra = run.read(folder)
        except Exception as error:  # noqa: BLE001 - the run's result, like any other failure
            outcome, cause = "unread", f"{type(error).__name__}: {error}"
    return Result(
        name=run.name,
        seed=run.seed,
        digest=run.digest,
        outcome=outcome,
        cause=cause,
        step=train.steps[-1] if train.steps else 0,
        train=train,
        held_out=folder.series("held_out"),
        seconds=round(seconds, 1),
        memory_gib=max((value for _, value in train.points("memory/peak")), default=None),
        findings=[
            {key: record[key] for key in ("code", "step", "message")} for record in folder.records("finding")
        ],
        extra=extra,
        checkpoint=starter_checkpoint() if run.spec["model"] == CHECKPOINT.name else "",
    )


@functools.cache
def starter_checkpoint() -> str:
    return hashlib.sha256((CHECKPOINT / "model.safetensors").read_bytes()).hexdigest()[:12]


@contextmanager
def _bar(total: int, done: int) -> Iterator[Callable[[str], None]]:
    """A bar over the runs; what it gives takes the line of one finished run."""
    columns = (TextColumn("runs"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("", total=total, completed=done)

        def finished(line: str) -> None:
            text = f"{time.strftime('%H:%M:%S')} {line}"
            bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
            bar.advance(task)

        yield finished


def _tail(log: Path, characters: int = 2000) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-characters:] if log.exists() else ""


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Numbers in lists and dictionaries with so many significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item, digits) for item in value]
    return value
