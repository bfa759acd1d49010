"""Handles untrusted model files (chat templates, tokenizers) in child processes with limits.

Requests and answers are JSON, preceded by their length in 4 bytes.
"""

import json
import logging
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.system.child_process import ChildProcess
from reinforge.system.priority import give_way

log = logging.getLogger(__name__)
T = TypeVar("T")

SECONDS = 15.0
"""Limit on the CPU time of a request: a large tokenizer takes 2 s."""
WALL_FACTOR = 4
"""Wall time allowed per second of CPU time: on a loaded machine, harmless files wait for a processor."""
MEMORY_BYTES = 2 << 30
OUTPUT_BYTES = 64 << 20
BATCH_ROWS = 256
BATCH_CHARACTERS = 1 << 20
WARM = 4

_NICE = 10
"""Niceness of children, so that untrusted files slow neither server nor jobs."""
_ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ")
_LENGTH = struct.Struct("<I")
_POLL_SECONDS = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")


class IsolatedChild:
    def __init__(self, module: str, seconds: float, memory_bytes: int, *, own_session: bool) -> None:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        self._process = ChildProcess(
            [sys.executable, "-P", "-m", module, str(int(seconds)), str(memory_bytes)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},
            own_session=own_session,
        )
        self._out = self._process.stdout

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and wait for its answer. If this raises, the caller must kill the child."""
        limits = _Limits(self.pid, seconds)
        self._process.send(_frame(request))
        (size,) = _LENGTH.unpack(self._read(_LENGTH.size, limits))
        if size > OUTPUT_BYTES:
            raise OSError(f"their process returned more than {OUTPUT_BYTES >> 20} MiB")
        answer: dict[str, Any] = json.loads(self._read(size, limits))
        return answer

    def kill(self) -> None:
        self._process.kill()
        self._process.close_input()
        self._out.close()

    def _read(self, size: int, limits: "_Limits") -> bytes:
        data = bytearray()
        while len(data) < size:
            while not select.select([self._out], [], [], limits.remaining())[0]:
                pass
            part = os.read(self._out.fileno(), min(size - len(data), 1 << 20))
            if not part:
                raise OSError("their process used too much memory or crashed")
            data += part
        return bytes(data)


class _Limits:
    """Limits on a child's CPU and wall time, for the request that begins now."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self._cpu_end = self._cpu_seconds() + seconds
        self._end = time.monotonic() + WALL_FACTOR * seconds

    def remaining(self) -> float:
        remaining = min(self._end - time.monotonic(), self._cpu_end - self._cpu_seconds())
        if remaining <= 0:
            raise TimeoutError("reading them took too long")
        return min(remaining, _POLL_SECONDS)

    def _cpu_seconds(self) -> float:
        # Behind the name, which may contain anything, utime and stime are the fields 12 and 13.
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


def batches(rows: Sequence[T]) -> Iterator[list[T]]:
    batch: list[T] = []
    size = 0
    for row in rows:
        characters = len(json.dumps(row))
        if batch and (len(batch) == BATCH_ROWS or size + characters > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += characters
    if batch:
        yield batch


class Apart:
    def __init__(
        self,
        seconds: float = SECONDS,
        *,
        module: str = "worker.isolated.process",
        memory_bytes: int = MEMORY_BYTES,
        own_session: bool = True,
    ) -> None:
        """Create a pool of children that run `module`. own_session: False if they end with this process's group."""
        self._seconds, self._module = seconds, module
        self._memory_bytes, self._own_session = memory_bytes, own_session
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._idle: list[IsolatedChild] = []
        self._lock = threading.Lock()

    def _leave_children_to_parent(self) -> None:
        """After a fork, leave the children to the parent and create a new lock."""
        self._of_parent = self._idle  # never finalized: their descriptors may be others' by now
        self._start()

    def ask_twice(self, work: str, folder: Path, payload: dict[str, Any]) -> dict[str, Any]:
        """Like `ask`, but retry once if the child died: the kernel may have killed it to free memory."""
        try:
            return self.ask(work, folder, payload)
        except InvalidInput as error:
            if error.code != "model_too_demanding" or isinstance(error.__cause__, TimeoutError):
                raise
        return self.ask(work, folder, payload)

    def ask(
        self, work: str, folder: Path, payload: dict[str, Any], *, param: str = "model"
    ) -> dict[str, Any]:
        """Run the function named `work` in a child. Raises its InvalidInput, or `model_too_demanding` if
        the child fails.
        """
        if os.getpid() != self._pid:
            self._leave_children_to_parent()
        with self._lock:
            child = self._idle.pop() if self._idle else None
        if child is None or not child.is_alive():
            child = IsolatedChild(
                self._module, self._seconds, self._memory_bytes, own_session=self._own_session
            )
        try:
            answer = child.ask(
                {"work": work, "folder": str(folder), "param": param, "payload": payload}, self._seconds
            )
        except (OSError, ValueError) as error:
            child.kill()
            log.warning("the process that read the files in %s failed: %s", folder, error)
            raise InvalidInput(
                f"The model's files could not be used: {error}.",
                code="model_too_demanding",
                hint=f"The limits are {self._seconds:g} s of CPU time and {self._memory_bytes >> 30} GiB. "
                "Check the model's files.",
                param=param,
            ) from error
        except BaseException:
            child.kill()
            raise
        with self._lock:
            if len(self._idle) < WARM:
                self._idle.append(child)
                child = None
        if child is not None:
            child.kill()
        if "error" in answer:
            refusal = answer["error"]
            raise InvalidInput(
                refusal["message"],
                code=refusal["code"],
                hint=refusal["hint"],
                param=refusal["param"],
                errors=refusal["errors"],
            )
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()


def _frame(value: dict[str, Any]) -> bytes:
    data = json.dumps(value).encode()
    return _LENGTH.pack(len(data)) + data


# ── The child ──────────────────────────────────────────────────────────────────────────────────────────────


Work = Callable[[Path, dict[str, Any]], dict[str, Any]]


def serve(load: Callable[[], dict[str, Work]]) -> None:
    """Answer requests until the input ends. load: returns functions by name; called once limits are set."""
    seconds, memory_bytes = int(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal: the trainer decides what it means
    for name, value in (("AS", memory_bytes), ("CORE", 0), ("FSIZE", 0), ("NOFILE", 64)):
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        resource.setrlimit(
            which, (value, value) if hard == resource.RLIM_INFINITY else (min(value, hard), hard)
        )
    Path("/proc/self/oom_score_adj").write_text("1000")
    work = load()
    while size := sys.stdin.buffer.read(_LENGTH.size):
        request = json.loads(sys.stdin.buffer.read(_LENGTH.unpack(size)[0]))
        signal.alarm(WALL_FACTOR * seconds + 5)  # in case the worker that would kill us has died
        sys.stdout.buffer.write(_frame(_answer(work[request["work"]], request)))
        sys.stdout.buffer.flush()
        signal.alarm(0)


def _answer(work: Work, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": work(Path(request["folder"]), request["payload"])}
    except ReinforgeError as error:
        refusal = error
    except BaseException as error:  # noqa: BLE001 - a panic of a library is no Exception
        # The error's text may name or quote local files.
        text = f": {str(error)[:500]}" if request["param"] == "model" else "."
        refusal = InvalidInput(
            f"The model's files could not be used: {type(error).__name__}{text}",
            code="prompt_not_renderable" if request["param"] == "model" else "damaged_model",
            hint="Check the model's files.",
            param=request["param"],
        )
    return {
        "error": {
            "message": refusal.message,
            "code": refusal.code,
            "hint": refusal.hint,
            "param": refusal.param,
            "errors": refusal.errors,
        }
    }


def _work_of_calls() -> dict[str, Work]:
    from worker.isolated.sample_prompts import sample_prompts
    from worker.models.adapter_files import check_adapter
    from worker.models.inspect import read_facts
    from worker.models.shortening import shorten
    from worker.rpc.continuation import prove_continuation
    from worker.rpc.render import render_rows

    return {
        "render": render_rows,
        "sample": sample_prompts,
        "facts": read_facts,
        "adapter": check_adapter,
        "prove_continuation": prove_continuation,
        "shorten": shorten,
    }


if __name__ == "__main__":
    give_way(_NICE)
    serve(_work_of_calls)
