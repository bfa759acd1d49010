"""Manages the serving process: started on demand, ended when idle, at EOF on its standard input, or with the
thread that started it.
"""

import contextlib
import json
import logging
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from pydantic import ValidationError

from reinforge.errors import Unavailable
from reinforge.system import launch
from reinforge.system.child_process import ChildProcess
from worker.serving_client.placement import Launch
from worker.serving_client.protocol import Reply, ServingRequest
from worker.supervisor.exit_diagnosis import memory_kills
from worker.supervisor.trainer_process import child_environment

log = logging.getLogger(__name__)

SERVING: tuple[str, ...] = (sys.executable, "-P", "-m", "worker.serving")
END_GRACE_SECONDS = 2.0
PLACED_AGAIN_SECONDS = 30.0
_STDERR = 2
Replies = queue.SimpleQueue[Reply]


class ServingProcess:
    """Thread-safe. Call it from threads as long-lived as the worker: it ends with the one that started it."""

    def __init__(
        self,
        *,
        idle_seconds: float = 600.0,
        command: Sequence[str] = SERVING,
        places: Callable[[str], Launch] = lambda _: Launch(),
    ) -> None:
        self._idle_seconds, self._command, self._places = idle_seconds, tuple(command), places
        self._lock = threading.Lock()
        self._child: _ServingRun | None = None
        self._open = 0
        self._idle: threading.Timer | None = None

    @property
    def pid(self) -> int | None:
        child = self._child
        return None if child is None or child.ended else child.pid

    @contextlib.contextmanager
    def sample(self, request: ServingRequest, starting: Callable[[], None]) -> Iterator[Replies]:
        """Run a request; the queue gets its replies, the last with `ended` or `error`. Raises Unavailable."""
        with self._lock:
            self._open += 1
            if self._idle is not None:
                self._idle.cancel()
        try:
            child = self._running(request, starting)
            replies = child.send(request)
            try:
                yield replies
            finally:
                child.cancel(request.id)
        finally:
            with self._lock:
                self._open -= 1
                if not self._open and self._child is not None:
                    self._idle = threading.Timer(self._idle_seconds, self._end_idle)
                    self._idle.daemon = True
                    self._idle.start()

    def close(self) -> None:
        with self._lock:
            child, self._child = self._child, None
            if self._idle is not None:
                self._idle.cancel()
        if child is not None:
            child.end()

    def yield_gpu(self) -> None:
        with self._lock:
            if self._open or self._child is None or not self._child.launch.hold.requested:
                return
            child, self._child = self._child, None
            if self._idle is not None:
                self._idle.cancel()
        log.info("the serving process gives its GPU to a job")
        child.end()

    def _running(self, request: ServingRequest, starting: Callable[[], None]) -> "_ServingRun":
        if self.pid is None:
            starting()
        with self._lock:
            if self._child is not None and self._child.ended:
                self._child.end()
                self._child = None
            launch = None
            if self._child is not None and self._open == 1 and self._child.to_be_placed_again(request.folder):
                launch = self._places(request.folder)
                if launch.place != self._child.launch.place:
                    self._child.end()
                    self._child = None
                else:
                    launch.hold.release()
                    self._child.launch.at = launch.at
            if self._child is None:
                self._child = _ServingRun(
                    self._command, launch or self._places(request.folder), request.folder
                )
                log.info("started the serving process %s: %s", self._child.pid, self._child.launch.place)
            return self._child

    def _end_idle(self) -> None:
        with self._lock:
            if self._open or self._child is None:
                return
            child, self._child = self._child, None
        log.info("the serving process was idle for %g s", self._idle_seconds)
        child.end()


class _ServingRun:
    def __init__(self, command: Sequence[str], launch_: Launch, folder: str) -> None:
        self.launch, self._folder = launch_, folder
        self._registering = threading.Lock()
        self._replies: dict[str, Replies] = {}
        self._kills = memory_kills()
        try:
            self._process = ChildProcess(
                [*command, *(() if launch_.place is None else ("--engine", launch_.place.engine))],
                stdout=_STDERR,
                descriptors=launch_.hold.descriptors,
                end_signal=signal.SIGKILL,
                oom_score=launch.TRAINING_OOM_SCORE,
                with_results=True,
                env=child_environment() | launch_.environment(),
            )
        except BaseException:
            launch_.hold.release()
            raise
        self.pid = self._process.pid
        self.ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def to_be_placed_again(self, folder: str) -> bool:
        place = self.launch.place
        if place is None or not place.limited:
            return False
        return folder != self._folder or time.monotonic() - self.launch.at > PLACED_AGAIN_SECONDS

    def send(self, request: ServingRequest) -> Replies:
        replies: Replies = queue.SimpleQueue()
        with self._registering:
            if self.ended:
                raise self._lost()
            self._replies[request.id] = replies
        self._write({"request": request.model_dump()})
        return replies

    def cancel(self, id: str) -> None:
        if self._replies.pop(id, None) is not None:
            self._write({"cancel": id})

    def end(self) -> None:
        """Close the process's standard input; SIGKILL its group if it does not exit."""
        self._process.end(END_GRACE_SECONDS)
        self._reader.join(END_GRACE_SECONDS)

    def _write(self, message: dict[str, object]) -> None:
        self._process.send(json.dumps(message).encode() + b"\n")  # the reader reports its end

    def _read(self) -> None:
        assert self._process.results is not None
        with self._process.results as pipe:
            for line in pipe:
                try:
                    reply = Reply.model_validate_json(line)
                except ValidationError as error:  # cut off by its death
                    log.warning("unexpected reply of the serving process: %s", error)
                    continue
                last = reply.ended or reply.error is not None
                replies = self._replies.pop(reply.id, None) if last else self._replies.get(reply.id)
                if replies is not None:
                    replies.put(reply)
        self._process.wait()
        self._process.kill()
        self._process.close_input()  # unsent data is obsolete
        self.launch.hold.release()
        with self._registering:
            self.ended = True
            open_requests_ = dict(self._replies)
            self._replies.clear()
        lost = self._lost().envelope()["error"]
        for id, replies in open_requests_.items():
            replies.put(Reply(id=id, error=lost))

    def _lost(self) -> Unavailable:
        status = self._process.poll()
        if status == -signal.SIGKILL and memory_kills() > self._kills:
            return Unavailable(
                "The process that samples ran out of memory.",
                code="out_of_memory",
                hint="Use a smaller model here, or a machine with more memory.",
            )
        how = f"status {status}" if status is None or status >= 0 else f"signal {-status}"
        return Unavailable(
            f"The process that samples has ended ({how}).",
            code="serving_lost",
            hint="Try again. If it ends again, the log of `python -m worker calls` says why.",
        )
