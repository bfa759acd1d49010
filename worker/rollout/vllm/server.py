"""A vLLM server of an engine: started on demand, restarted once after a failure."""

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from reinforge.errors import JobFailure
from worker.rollout.vllm.api import Api, ServerLost, ServerRefused
from worker.rollout.vllm.options import BASE, Options
from worker.rollout.vllm.process import ServerProcess, Stage
from worker.rollout.vllm.sizing import Sleep

START_SECONDS = 900.0
"""Time limit of a start; large models take minutes to load."""
QUIET_SECONDS = 300.0
"""Seconds without output after which the server counts as hung."""
_LOOK_SECONDS = 0.1

Notify = Callable[[str], None]
Progress = Callable[[Stage], None]


class Stopped(Exception):
    pass


class EngineFailure(JobFailure):
    def __init__(self, message: str, code: str, hint: str, log_end: str) -> None:
        super().__init__(message, code=code, hint=hint)
        self.traceback = log_end


class SamplerServer(Protocol):
    """A vLLM server as an engine uses it. Its methods raise JobFailure, ServerLost and Stopped."""

    adapters: Path
    """Folder for adapters that the engine exports."""
    stopped: Callable[[], bool]
    quiet_seconds: float

    async def ready(self) -> Api:
        """Start the server if needed."""

    async def awake(self) -> Api:
        """Like `ready`; also returns the memory that `rest` released."""

    async def rest(self) -> None:
        """Release memory for an update of the trainer, if the server shares its GPU."""

    async def restart(self, why: str) -> Api:
        """Replace a failed server by one without adapters. Raises JobFailure `vllm_lost` if that failed before."""

    def refusal(self, what: str, why: str) -> JobFailure:
        """Error for a request that the server refuses."""

    async def close(self) -> None: ...


class VllmServer:
    def __init__(
        self,
        python: Path,
        options: Options,
        log: Path | None,
        *,
        notify: Notify = lambda _: None,
        progress: Progress = lambda _: None,
        make_room: Callable[[], None] = lambda: None,
    ) -> None:
        """log: file that the server appends to. make_room: called before the server takes memory."""
        self._python, self._options = python, options
        self._notify, self._progress, self._make_room = notify, progress, make_room
        self._root = Path(tempfile.mkdtemp(prefix="rf-vllm-"))
        self._log = log or self._root / "vllm.log"
        self.adapters = self._root / "adapters"
        self.adapters.mkdir()
        self._process: ServerProcess | None = None
        self._restarts = 0
        self._sleeps: Sleep = options.sleeps
        self._asleep: Sleep = "no"
        self.api: Api | None = None
        self.stopped: Callable[[], bool] = lambda: False
        self.quiet_seconds = QUIET_SECONDS

    @property
    def pid(self) -> int | None:
        """Session id of the server's processes."""
        return None if self._process is None else self._process.pid

    @property
    def ended(self) -> bool:
        return self._process is not None and self._process.ended

    async def ready(self) -> Api:
        """Raises JobFailure `vllm_start_failed`, Stopped."""
        if self.api is not None:
            return self.api
        started = time.monotonic()
        self._make_room()
        self._notify(f"Starting vLLM; its log is {self._log}")
        self._process = process = ServerProcess(self._python, self._options, self._root, self._log)
        api = Api(process.socket)
        reported_stage: Stage | None = None
        while not (process.socket.exists() and await api.healthy()):
            if process.ended or time.monotonic() - started > START_SECONDS:
                await api.close()
                raise self._failure(
                    "vLLM ended while it was starting." if process.ended else "vLLM did not start in time.",
                    "vllm_start_failed",
                    "The end of its log says why; docs/engines.md lists what it needs.",
                )
            if self.stopped():
                await api.close()
                process.kill()
                raise Stopped
            if (stage := process.stage) != reported_stage:
                reported_stage = stage
                self._progress(stage)
            await asyncio.sleep(_LOOK_SECONDS)
        await self._warm(api)
        self._notify(f"vLLM is ready after {time.monotonic() - started:.0f} s")
        self.api = api
        return api

    async def rest(self) -> None:
        if self.api is None or self._sleeps == "no" or self._asleep != "no":
            return
        if self._sleeps == "cache":
            try:
                await self.api.release_cache()
                self._asleep = "cache"
                return
            except ServerRefused as error:
                self._notify(
                    f"vLLM cannot give its cache back alone ({error}): its weights give way to updates, too"
                )
                self._sleeps = "weights"
        await self.api.sleep()
        self._asleep = "weights"

    async def awake(self) -> Api:
        api = await self.ready()
        if self._asleep != "no":
            self._make_room()
            await api.wake("kv_cache" if self._asleep == "cache" else None)
            self._asleep = "no"
        return api

    async def _warm(self, api: Api) -> None:
        try:
            await asyncio.wait_for(api.score(BASE, (0, 0), 1), START_SECONDS)
        except (ServerLost, ServerRefused, TimeoutError) as error:
            await api.close()
            raise self._failure(
                f"vLLM has started and does not answer: {error or 'not a word'}",
                "vllm_start_failed",
                "The end of its log says why.",
            ) from error

    async def restart(self, why: str) -> Api:
        if self._restarts:
            raise self._failure(
                f"vLLM failed again after a restart: {why}",
                "vllm_lost",
                "The end of its log is below. If it was killed for memory, lower rollout.prompts_per_step or "
                "completions_per_prompt; or use rollout.engine transformers.",
            )
        self._restarts += 1
        self._notify(f"vLLM failed ({why}); it is restarted once")
        await self._end(grace=0.0)
        return await self.ready()

    def refusal(self, what: str, why: str) -> JobFailure:
        return self._failure(
            f"vLLM does not take {what}: {why}",
            "vllm_refused",
            "docs/engines.md says what vLLM can sample from; rollout.engine transformers has no such limits.",
        )

    async def close(self) -> None:
        await self._end()
        shutil.rmtree(self._root, ignore_errors=True)

    async def _end(self, grace: float | None = None) -> None:
        api, self.api, self._asleep = self.api, None, "no"
        if api is not None:
            with contextlib.suppress(Exception):
                await api.close()
        if self._process is None:
            return
        if grace is None:
            await asyncio.to_thread(self._process.close)
        else:
            self._process.kill()

    def _failure(self, message: str, code: str, hint: str) -> JobFailure:
        return EngineFailure(message, code, hint, "" if self._process is None else self._process.log_end())
