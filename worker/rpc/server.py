"""RPC server: several threads answer the backend's RPCs. It does not import torch."""

import logging
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from reinforge.errors import ReinforgeError
from reinforge.schemas.rpc.adapters import INSPECT_ADAPTER
from reinforge.schemas.rpc.base import CallKind, dump
from reinforge.schemas.rpc.models import INSPECT_MODEL, RENDER
from reinforge.schemas.rpc.rewards import SCORE, VALIDATE, CodeScoring, ScoreRequest, ScoreResult
from reinforge.schemas.rpc.sampling import SAMPLE
from reinforge.schemas.rpc.tools import LIST_TOOLS, RUN_TOOLS
from reinforge.schemas.worker_api import CALL_POLL_SECONDS, CallAnswer, CallMessage
from reinforge.system import tracing
from reinforge.system.logs import log_context
from reinforge.system.signals import Relay
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.cache_cleanup import Cache, Tidying
from worker.backend_api.client import BackendAway, WorkerApi, WorkerApiRefused
from worker.backend_api.presence import Presence
from worker.isolated.process import Apart
from worker.machine.gpu_assignment import gpu_locks
from worker.models.sources import ModelStore, model_store
from worker.rewards.checkpoints import ModelProcess
from worker.rewards.jail_status import jail_status
from worker.rewards.sandbox_access import sandbox_client
from worker.rpc.cancellation import CallWatch
from worker.rpc.graders import grade
from worker.rpc.inspect_adapter import inspect_adapter
from worker.rpc.inspect_model import inspect
from worker.rpc.render import render
from worker.rpc.rewards import score, validate
from worker.rpc.run_tools import run_tools
from worker.rpc.sample import Sampler
from worker.rpc.tools import list_tools
from worker.sandbox.client import SandboxClient
from worker.serving_client.engine_choice import serving_engine
from worker.serving_client.placement import Launch, Places
from worker.serving_client.process import SERVING, ServingProcess
from worker.settings import WorkerSettings
from worker.supervisor.slots import take_slot

log = logging.getLogger(__name__)

QUICK: list[CallKind] = ["validate", "score", "render"]
ALL: list[CallKind] = [*QUICK, "inspect_model", "inspect_adapter", "list_tools", "run_tools"]
SAMPLING: list[CallKind] = ["sample"]
REWARD_MODEL_IDLE_SECONDS = 300.0
REWARD_MODEL_ORDER_SECONDS = 600.0
_RPC_THREADS = 4
_AWAY_SECONDS = 1.0
_ANSWER_TRIES = 5

Handler = Callable[[CallMessage], BaseModel]
RequestT = TypeVar("RequestT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)


class CallWorker:
    def __init__(
        self,
        api: WorkerApi,
        worker_id: str,
        models: ModelStore,
        sandbox: str | Path | None,
        sampler: Sampler | None = None,
        places: Callable[[str], Launch] = lambda _: Launch(),
        blobs: BlobCache | None = None,
    ) -> None:
        self._api, self._id, self._models = api, worker_id, models
        self._sandbox = sandbox
        if sandbox is not None:
            sandbox_client(sandbox).close()  # report an invalid address at the start
        self._watch = CallWatch(api)
        self._apart = Apart()
        self._reward_models = ModelProcess(
            idle_seconds=REWARD_MODEL_IDLE_SECONDS, order_seconds=REWARD_MODEL_ORDER_SECONDS, places=places
        )
        self.stop = threading.Event()
        self._handlers: dict[CallKind, Handler] = {
            "validate": lambda call: self._in_sandbox(call, validate, VALIDATE.read_request(call.payload)),
            "score": lambda call: self._in_sandbox(call, self._score, SCORE.read_request(call.payload)),
            "render": lambda call: render(self._apart, self._models, RENDER.read_request(call.payload)),
            "inspect_model": lambda call: inspect(
                self._api, self._models, self._apart, call.id, INSPECT_MODEL.read_request(call.payload)
            ),
            "list_tools": lambda call: list_tools(LIST_TOOLS.read_request(call.payload)),
            "run_tools": lambda call: self._in_sandbox(
                call, partial(run_tools, self._apart, self._models), RUN_TOOLS.read_request(call.payload)
            ),
        }
        if blobs is not None:
            self._handlers["inspect_adapter"] = lambda call: inspect_adapter(
                blobs, self._models, self._apart, INSPECT_ADAPTER.read_request(call.payload)
            )
        if sampler is not None:
            self._handlers["sample"] = lambda call: sampler.sample(call.id, SAMPLE.read_request(call.payload))

    def _score(self, sandbox: SandboxClient | None, request: ScoreRequest) -> ScoreResult:
        if isinstance(request, CodeScoring):
            return score(sandbox, request)
        return grade(sandbox, self._models, self._reward_models, request)

    def _in_sandbox(
        self,
        call: CallMessage,
        work: Callable[[SandboxClient | None, RequestT], ResultT],
        request: RequestT,
    ) -> ResultT:
        """Run `work` with its own sandbox client, whose jails end if the caller disconnects."""
        if self._sandbox is None:
            return work(None, request)
        with sandbox_client(self._sandbox) as client, self._watch.watching(call.id, client.abort):
            return work(client, request)

    def loop(self, kinds: list[CallKind], wait_seconds: float = CALL_POLL_SECONDS) -> None:
        while not self.stop.is_set():
            try:
                call = self._api.next_call(self._id, kinds, wait_seconds)
                if call is not None:
                    with (
                        log_context(call=call.id, kind=call.kind),
                        tracing.span(f"worker {call.kind}", call.traceparent, kind="server"),
                    ):
                        self._deliver(call, self.answer(call))
            except (BackendAway, WorkerApiRefused) as error:
                log.info("could not fetch or answer calls: %s", error.message)
                self.stop.wait(_AWAY_SECONDS)
            except BaseException:  # a library's panic is no Exception
                # The process keeps reporting itself online, so its threads must run.
                log.exception("a thread of the RPC server failed, and continues")
                self.stop.wait(_AWAY_SECONDS)

    def yield_gpu(self) -> None:
        self._reward_models.yield_gpu()

    def start(self, number: int, kinds: list[CallKind]) -> threading.Thread:
        thread = threading.Thread(target=self.loop, args=(kinds,), name=f"calls-{number}", daemon=True)
        thread.start()
        return thread

    def replace_dead(self, threads: list[threading.Thread], kinds: list[list[CallKind]]) -> None:
        for number, thread in enumerate(threads):
            if not thread.is_alive() and not self.stop.is_set():
                log.error("%s has ended; it is started again", thread.name)
                threads[number] = self.start(number, kinds[number])

    def answer(self, call: CallMessage) -> CallAnswer:
        began = time.monotonic()
        try:
            answer = CallAnswer(result=dump(self._handlers[call.kind](call)))
            answer.model_dump_json()  # half a surrogate pair in a user's file cannot be sent
        except ReinforgeError as error:
            answer = CallAnswer(error=error.envelope()["error"])
        except BaseException as error:  # a library's panic is no Exception: it ends this call, not the thread
            log.exception("call %s (%s) failed", call.id, call.kind)
            # Its text may name files of this machine, or quote them.
            message = f"The worker failed at {call.kind}: {type(error).__name__}."
            hint = "The log of `python -m worker calls` has the details."
            answer = CallAnswer(error=ReinforgeError(message, hint=hint).envelope()["error"])
        log.info(
            "%s in %.0f ms%s",
            call.kind,
            1000 * (time.monotonic() - began),
            "" if answer.error is None else ", refused",
        )
        return answer

    def _deliver(self, call: CallMessage, answer: CallAnswer) -> None:
        for _ in range(_ANSWER_TRIES):
            try:
                self._api.answer_call(call.id, answer)
                return
            except WorkerApiRefused as error:
                log.info("nobody waits for %s any more: %s", call.id, error.message)
                return
            except BackendAway:
                if self.stop.wait(_AWAY_SECONDS):
                    return


def serve(settings: WorkerSettings) -> None:
    slot = take_slot(settings.folder("workers"), "calls", settings.hostname)
    api = WorkerApi(settings.backend_url, settings.required_token())
    models = model_store(settings)
    locks, seats = gpu_locks(settings), settings.jobs_per_gpu
    serving = ServingProcess(
        idle_seconds=settings.serving_idle_seconds,
        command=serving_command(settings, slot.folder / "vllm.log"),
        places=Places(locks, seats, "deployments and the playground", settings.serving_engine).find,
    )
    blobs = BlobCache(settings.folder("cache", "blobs"), api.get_blob)
    sampler = Sampler(api, models, blobs, slot.folder, serving)
    reward_places = Places(locks, seats, "tests of reward models", "transformers").find
    worker = CallWorker(api, slot.worker_id, models, settings.sandbox, sampler, reward_places, blobs)
    leave = Relay(worker.stop.set).handle
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    threads = _kinds(settings)
    answers = sorted({kind for answered in threads for kind in answered})
    presence = Presence(
        api, slot.worker_id, "calls", settings.hostname, lambda: jail_status(settings.sandbox), answers
    )
    presence.start()
    while not worker.stop.is_set() and not presence.registered.wait(0.1):
        pass
    Tidying(api, blobs, others=[Cache(sampler.cached, sampler.forget)]).start()
    running = [worker.start(number, kinds) for number, kinds in enumerate(threads)]
    log.info("%s answers calls of %s", slot.worker_id, settings.backend_url)
    while not worker.stop.wait(1.0):
        worker.replace_dead(running, threads)
        serving.yield_gpu()
        worker.yield_gpu()
    sampler.close()


def serving_command(settings: WorkerSettings, vllm_log: Path) -> tuple[str, ...]:
    """Command that starts the serving process, without the engine, which its placement adds."""
    engine, why = serving_engine(settings.serving_engine)
    log.info("sampling on demand uses %s: %s", engine, why)
    return (
        *SERVING,
        *("--threads", str(settings.serving_threads), "--adapters", str(settings.serving_adapters)),
        *("--log", str(vllm_log)),
    )


def _kinds(settings: WorkerSettings) -> list[list[CallKind]]:
    """Kinds of RPCs per thread. One thread never inspects models, so that downloads cannot
    occupy all threads.
    """
    samplers = settings.sample_threads
    if samplers and find_spec("torch") is None:
        log.info("torch is not installed here, so this worker does not sample")
        samplers = 0
    return [QUICK, *[ALL] * (_RPC_THREADS - 1), *[SAMPLING] * samplers]
