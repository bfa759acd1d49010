"""RPC `sample`: renders prompts before a model is loaded, then streams completions from the
serving process.
"""

import logging
import queue
import shutil
import tarfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from reinforge.errors import InvalidInput, ReinforgeError, Unavailable
from reinforge.schemas.rpc.base import NoResult
from reinforge.schemas.rpc.events import DeltaEvent, DoneEvent, RpcEvent, SamplingEvent, StatusEvent
from reinforge.schemas.rpc.sampling import SamplingPrompts, SamplingRequest
from reinforge.schemas.worker_api import CallChunk
from reinforge.system.archives import unpack
from reinforge.system.folder_cache import FolderCache
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import BackendAway, WorkerApi
from worker.isolated.process import Apart
from worker.models.sources import ModelStore
from worker.rpc.progress import InspectionProgress, ProgressThread
from worker.serving_client.process import Replies, ServingProcess
from worker.serving_client.protocol import Reply, SamplePrompt, ServingRequest

log = logging.getLogger(__name__)

ASK_SECONDS = 0.5
AWAY_SECONDS = 15.0
REPORT_SECONDS = 2.0
QUIET_SECONDS = 300.0
"""Time after a request in which its adapter is not removed, because it may be in use."""
CACHED_ADAPTERS = 16
_POST_EVERY_SECONDS = 0.05
_PAUSE_SECONDS = 0.2

_EVENTS: TypeAdapter[list[SamplingEvent]] = TypeAdapter(list[SamplingEvent])


class Sampler:
    """Answers `sample` RPCs; thread-safe. folder: for adapters; those of a former process are removed."""

    def __init__(
        self, api: WorkerApi, models: ModelStore, blobs: BlobCache, folder: Path, serving: ServingProcess
    ) -> None:
        self._api, self._models, self._blobs, self._serving = api, models, blobs, serving
        self._apart = Apart()
        self._adapters = folder / "adapters"
        self._unpacking = threading.Lock()
        shutil.rmtree(self._adapters, ignore_errors=True)

    def close(self) -> None:
        self._serving.close()
        self._apart.close()

    def sample(self, call_id: str, request: SamplingRequest) -> NoResult:
        """Answer a request; returns once the backend has all events."""
        chunks = _Chunks(self._api, call_id)
        serving_request = self._prepare(call_id, request, chunks)
        with self._serving.sample(serving_request, lambda: chunks.status("Starting the sampler")) as replies:
            _forward(replies, chunks)
        return NoResult()

    def _prepare(self, call_id: str, request: SamplingRequest, chunks: "_Chunks") -> ServingRequest:
        folder = self._files(call_id, request, chunks)
        prompts = request.model_dump(include=set(SamplingPrompts.model_fields))
        answer = self._apart.ask("sample", folder, prompts)
        adapter = request.adapter
        return ServingRequest(
            id=call_id,
            model=request.model,
            folder=str(folder),
            model_sha256=request.model_sha256,
            adapter=None if adapter is None else f"adapter-{adapter.sha256[:32]}",
            adapter_folder=None if adapter is None else str(self._adapter(adapter.sha256, chunks)),
            prompts=[SamplePrompt.model_validate(prompt) for prompt in answer["prompts"]],
            samples_per_prompt=request.samples_per_prompt,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=request.seed,
            stop=request.stop,
            top_logprobs=request.top_logprobs,
            json_schema=request.json_schema,
            notation=answer["notation"],
        )

    def _files(self, call_id: str, request: SamplingRequest, chunks: "_Chunks") -> Path:
        progress, pinned = InspectionProgress(), request.model_sha256
        with ProgressThread(
            lambda: chunks.status(_so_far(progress)), first=REPORT_SECONDS, every=REPORT_SECONDS, name=call_id
        ) as reporter:
            model = self._models.find(
                request.model_source, token=request.hub_token, added=True, begun=progress.downloading
            )
            progress.hashing()
            changed = pinned is not None and self._models.content_hash(model.folder) != pinned
        if reporter.refused is not None:
            raise reporter.refused
        if changed:
            raise InvalidInput(
                f"The files of {request.model} on this worker have changed since the model was added.",
                code="model_changed",
                hint="Restore the original files, or add the changed ones as a new model.",
                param="model",
            )
        return model.folder

    def _adapter(self, sha256: str, chunks: "_Chunks") -> Path:
        folder = self._adapters / sha256
        with self._unpacking:
            if not folder.is_dir():
                chunks.status("Fetching the adapter")
                self._adapters.mkdir(mode=0o700, parents=True, exist_ok=True)
                fresh, archive = self._adapters / f".{sha256}", self._adapters / f".{sha256}.tar"
                try:
                    self._blobs.place(sha256, archive)
                    with tarfile.open(archive, mode="r:") as tar:
                        unpack(tar, fresh)
                    fresh.rename(folder)
                except tarfile.TarError as error:
                    raise Unavailable(
                        f"The checkpoint's archive cannot be read: {error}", code="adapter_damaged"
                    ) from error
                finally:
                    archive.unlink(missing_ok=True)
                    shutil.rmtree(fresh, ignore_errors=True)
            adapters = FolderCache(self._adapters, max_entries=CACHED_ADAPTERS)
            adapters.use(sha256)
            adapters.evict(keep={sha256})
        return folder

    def cached(self) -> list[str]:
        """Hashes of cached adapters that were not requested recently."""
        with self._unpacking:
            if not self._adapters.is_dir():
                return []
            return [path.name for path in self._adapters.iterdir() if self._is_quiet(path)]

    def forget(self, names: Iterable[str]) -> None:
        with self._unpacking:
            for path in (self._adapters / name for name in names):
                if path.is_dir() and self._is_quiet(path):
                    shutil.rmtree(path, ignore_errors=True)

    def _is_quiet(self, path: Path) -> bool:
        return not path.name.startswith(".") and path.stat().st_mtime < time.time() - QUIET_SECONDS


class _Chunks:
    """Posts each event of one RPC once, in order."""

    def __init__(self, api: WorkerApi, call_id: str) -> None:
        self._api, self._call = api, call_id
        self._seq = 0
        self._posted_at = 0.0

    def status(self, message: str) -> None:
        self.post([StatusEvent(type="status", message=message)])

    def post(self, events: Sequence[RpcEvent]) -> None:
        seq = self._seq + bool(events)
        chunk = CallChunk(seq=max(1, seq), events=list(events))
        retrying = Retrying(
            retry=retry_if_exception_type(BackendAway),
            stop=stop_after_delay(AWAY_SECONDS),
            wait=wait_fixed(_PAUSE_SECONDS),
            reraise=True,
        )
        retrying(self._api.post_chunk, self._call, chunk)
        self._seq, self._posted_at = seq, time.monotonic()

    def pause(self) -> None:
        time.sleep(max(0.0, self._posted_at + _POST_EVERY_SECONDS - time.monotonic()))


def _so_far(progress: InspectionProgress) -> str:
    if (so_far := progress.bytes()) is not None:
        done, total = so_far
        return f"Downloading the model: {done / 1e9:.1f} of {total / 1e9:.1f} GB"
    return "Reading the model's files" if progress.phase == "hashing" else "Looking for the model's files"


def _forward(replies: Replies, chunks: _Chunks) -> None:
    while True:
        batch = _next(replies)
        last = batch[-1] if batch else Reply(id="")
        events = merged(_EVENTS.validate_python([event for reply in batch for event in reply.events]))
        if events or not batch:
            chunks.post(events)
        if last.error is not None:
            raise _as_error(last.error)
        if last.ended:
            return
        chunks.pause()


def _next(replies: Replies) -> list[Reply]:
    batch = []
    try:
        batch.append(replies.get(timeout=ASK_SECONDS))
        while True:
            batch.append(replies.get_nowait())
    except queue.Empty:
        return batch


def merged(events: Sequence[SamplingEvent]) -> list[SamplingEvent]:
    out: list[SamplingEvent] = []
    open_deltas: dict[tuple[int, int], DeltaEvent] = {}
    for event in events:
        if not isinstance(event, DeltaEvent):
            if isinstance(event, DoneEvent):
                open_deltas.pop((event.prompt, event.sample), None)
            out.append(event)
            continue
        key = (event.prompt, event.sample)
        if (delta := open_deltas.get(key)) is None:
            open_deltas[key] = event.model_copy()
            out.append(open_deltas[key])
            continue
        delta.text += event.text
        delta.tokens = event.tokens
        if event.logprobs is not None:
            delta.logprobs = [*(delta.logprobs or []), *event.logprobs]
    return out


def _as_error(error: dict[str, Any]) -> ReinforgeError:
    kind = InvalidInput if error.get("type") == InvalidInput.type else Unavailable
    return kind(
        str(error.get("message")), code=error.get("code"), hint=error.get("hint"), param=error.get("param")
    )
