"""Trainers forked from one process that has imported torch and transformers already.

That saves 6 s of computing per run, of about 45. `python forks.py` is that process: it reads the path of a run folder
per line, forks, and answers with the child's number; the child is `python -m worker.trainer.main --run PATH
--offline`, its output in `PATH/trainer.log`. Children end with it, and it ends with its standard input. Linux only.
"""

import contextlib
import importlib
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import NoReturn, Self

from reinforge.system.launch import end_with_parent

VARIABLES = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
ONE_CORE = {"OMP_NUM_THREADS": "1"}


class Trainer:
    """A forked trainer, seen from the driver, which is not its parent."""

    def __init__(self, number: int) -> None:
        self._process = os.pidfd_open(number)
        self._poll = select.poll()
        self._poll.register(self._process, select.POLLIN)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within so many seconds."""
        return bool(self._poll.poll(seconds * 1000))

    def send(self, number: int) -> None:
        """A signal, unless it has ended."""
        try:
            signal.pidfd_send_signal(self._process, number)
        except ProcessLookupError:
            return

    def close(self) -> None:
        os.close(self._process)


class Forks:
    """The process that forks; for use by several threads."""

    def __init__(self, *, one_core: bool) -> None:
        """one_core: trainers keep to one, because others run beside them; else they follow their own rules."""
        self._variables = VARIABLES | (ONE_CORE if one_core else {})

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | self._variables,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def start(self, path: Path) -> Trainer:
        """Start a trainer on a prepared run folder."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            print(path, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError("the process that forks trainers has ended; its last words are above")
            return Trainer(int(answer))


def main() -> None:
    for module in ("worker.trainer.main", "transformers.models.qwen3.modeling_qwen3"):
        importlib.import_module(module)
    while path := sys.stdin.readline().rstrip("\n"):
        # Only now: until the driver has a child in hand, its number must not become another's.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        parent = os.getpid()
        number = os.fork()
        if number == 0:
            _train(path, parent)
        print(number, flush=True)


def _train(path: str, parent: int) -> NoReturn:
    """In the child, to its end."""
    status = 1
    try:
        end_with_parent(parent, signal.SIGKILL)
        log = os.open(Path(path) / "trainer.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, file in enumerate((nothing, log, log)):
            os.dup2(file, number)
        sys.argv = ["worker.trainer.main", "--run", path, "--offline"]
        importlib.import_module("worker.trainer.main").main()
        status = 0
    except BaseException:  # noqa: BLE001 - the end of a process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
