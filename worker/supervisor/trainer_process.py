"""Runs the trainer in a child process, which writes records and reads commands."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from reinforge.records import RECORD, Command, Record
from reinforge.system import launch
from reinforge.system.child_process import ChildProcess
from worker.machine.gpu_assignment import Hold
from worker.machine.gpus import hide_unwanted
from worker.supervisor.slots import WorkerSlot, forget_process, mark, remember_process

TRAINER: tuple[str, ...] = (sys.executable, "-m", "worker.trainer.main")
_SECRETS = ("TOKEN", "SECRET", "PASSWORD", "API_KEY", "ACCESS_KEY", "DATABASE_URL", "REDIS_URL", "OTEL_")
_SAMPLER = ("REINFORGE_SAMPLER_TOKEN", "REINFORGE_SAMPLER_TOKEN_FILE")
"""Secrets that computing processes need: without them they reach no engine host."""
_MAX_LINE_BYTES = 256 << 20
SAY_SECONDS = 1.0
_END_SECONDS = 10.0


class TrainerProcess:
    """Ends with the thread that starts it."""

    def __init__(
        self,
        run: Path,
        log: Path,
        slot: WorkerSlot,
        on_record: Callable[[Record], None],
        command: Sequence[str] = TRAINER,
        secrets: Mapping[str, str] | None = None,
        gpus: Hold | None = None,
    ) -> None:
        gpus = gpus or Hold()
        self._slot = slot
        self._on_record = on_record
        self._closed = False
        self.fault: str | None = None
        with log.open("ab") as output:
            self._process = ChildProcess(
                [*command, "--run", str(run)],
                stdout=output,
                stderr=output,
                descriptors=gpus.descriptors,
                end_signal=signal.SIGKILL,
                oom_score=launch.TRAINING_OOM_SCORE,
                with_results=True,
                env=child_environment() | gpus.placement.environment() | mark(run) | dict(secrets or {}),
            )
        assert self._process.results is not None
        self._records = self._process.results
        try:
            remember_process(slot, self._process.pid, run)
        except OSError:
            self._records.close()
            self._process.kill()
            self._process.close_input()
            raise
        self._reader = threading.Thread(target=self._read, name=f"records-{self._process.pid}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, seconds: float) -> int | None:
        return self._process.wait(seconds)

    def command(self, command: Command) -> bool:
        """Send a command; False if the trainer no longer reads commands."""
        return self._process.send(command.model_dump_json().encode() + b"\n")

    def dump_stacks(self) -> None:
        self._process.signal(signal.SIGUSR1)
        self.wait(SAY_SECONDS)

    def end(self, grace: float) -> None:
        """End the trainer: close its standard input, and after `grace` seconds kill its process group."""
        if self._closed:
            return
        self._process.close_input()
        self.wait(grace)
        self.close()

    def close(self) -> None:
        if self._closed:
            return
        self._process.kill()
        self._process.close_input(_END_SECONDS)
        self._reader.join(_END_SECONDS)
        forget_process(self._slot)
        self._closed = True

    def _read(self) -> None:
        with self._records as pipe:
            while line := pipe.readline(_MAX_LINE_BYTES):
                if not line.endswith(b"\n"):
                    return  # cut off by its death
                if self.fault is not None:
                    continue  # read on, so that the trainer does not block before it is ended
                try:
                    self._on_record(RECORD.validate_json(line))
                except ValidationError as error:
                    self.fault = f"The trainer wrote an invalid record: {error}"


def child_environment() -> dict[str, str]:
    """Environment without secrets: a trainer loads untrusted models."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if key in _SAMPLER or not any(part in key for part in _SECRETS)
    }
    hide_unwanted(environment)
    return environment | {
        "REINFORGE_RECORD_FD": str(launch.RESULT_FD),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",  # the model is in a folder already
    }
