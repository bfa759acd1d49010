"""Process of one vLLM server, run by the supervisor process in `keeper`."""

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from reinforge.system.child_process import ChildProcess
from worker.rollout.vllm import keeper
from worker.rollout.vllm.options import Options

STAGES = (
    ("Initializing a V1 LLM engine", "starting the engine"),
    ("Starting to load model", "loading the model"),
    ("KV cache size", "reserving the cache"),
    ("Application startup complete", "ready"),
)
END_SECONDS = keeper.GRACE_SECONDS + 2.0
LOG_LINES = 30
_LOG_BYTES = 32_768


@dataclass(frozen=True, slots=True)
class Stage:
    done: int
    total: int
    text: str


class ServerProcess:
    """Start it in a long-lived thread: its supervisor process ends with that thread."""

    def __init__(self, python: Path, options: Options, folder: Path, log: Path) -> None:
        self.socket = folder / "vllm.sock"
        self.log = log
        with contextlib.suppress(FileNotFoundError):
            self.socket.unlink()
        self._log_start = log.stat().st_size if log.exists() else 0
        command = [str(python), "-P", "-m", "vllm.entrypoints.openai.api_server"]
        with log.open("ab") as output:
            self._process = ChildProcess(
                [
                    sys.executable,
                    *("-S", "-E", keeper.__file__, str(folder)),
                    *command,
                    *options.arguments(self.socket),
                ],
                stdout=output,
                stderr=output,
                cwd=folder,
                end_signal=signal.SIGTERM,
                # Its processes talk over sockets in the temporary folder, which a killed one leaves behind.
                env={**_environment(), **options.environment(), "TMPDIR": str(folder)},
            )
        self.pid = self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def stage(self) -> Stage:
        text = self._read(self._log_start)
        done = max((place + 1 for place, (mark, _) in enumerate(STAGES) if mark in text), default=0)
        return Stage(done, len(STAGES), STAGES[done - 1][1] if done else "importing")

    def log_end(self, lines: int = LOG_LINES) -> str:
        return "\n".join(self._read(self._log_start).splitlines()[-lines:])

    def close(self, grace: float = END_SECONDS) -> None:
        self._process.end(grace)

    def kill(self) -> None:
        self._process.kill()
        self._process.close_input()

    def _read(self, start: int) -> str:
        try:
            with self.log.open("rb") as file:
                end = file.seek(0, 2)
                file.seek(max(start, end - _LOG_BYTES))
                return file.read().decode(errors="replace").replace("\0", "\ufffd")
        except OSError as error:
            return f"(the log cannot be read: {error})"


def _environment() -> dict[str, str]:
    """This process's environment without Python paths and without allocator settings, which vLLM's sleep does
    not support.
    """
    allocator = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "OMP_NUM_THREADS", *allocator)
    return {key: value for key, value in os.environ.items() if key not in ours}
