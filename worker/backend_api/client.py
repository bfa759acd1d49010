"""Client of the worker API, with three kinds of failures.

BackendAway   no response, 5xx, 408 or 429: try again later, nothing is lost
LeaseLost     another attempt owns the job (or may soon): stop at once
WorkerApiRefused   rejected: repeating the request is of no use
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from reinforge.errors import LeaseLost, ReinforgeError, Unavailable
from reinforge.records import Record
from reinforge.schemas.rpc.base import CallKind
from reinforge.schemas.worker_api import (
    PROTOCOL,
    PROTOCOL_HEADER,
    Cached,
    CallAnswer,
    CallChunk,
    CallMessage,
    Claim,
    Claimed,
    Heartbeat,
    HeartbeatReply,
    NextCall,
    RecordBatch,
    RecordReply,
    Register,
    Unused,
)
from worker.backend_api.progress_callback import ProgressCallback, ignore_progress

Reply = TypeVar("Reply", bound=BaseModel)
_CHUNK = 1 << 20
_TIMEOUT = httpx.Timeout(10.0, read=30.0, write=60.0)
_POLL_MARGIN_SECONDS = 15.0


class BackendAway(Unavailable):
    default_code = "backend_away"


class WorkerApiRefused(ReinforgeError):
    type, default_code = "refused_error", "refused"

    def __init__(
        self, message: str, *, status: int, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status = status


class WorkerApi:
    """Client of `/worker/v1`. Thread-safe."""

    def __init__(self, url: str, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url
        self._client = httpx.Client(
            base_url=url.rstrip("/") + "/worker/v1", timeout=_TIMEOUT, transport=transport
        )
        self._token = token

    def close(self) -> None:
        self._client.close()

    def register(self, body: Register) -> None:
        self._post("/workers", body)

    def unused(self, cached: Cached) -> Unused:
        return self._post_for(Unused, "/caches", cached) or Unused(objects=[], jobs=[])

    def claim(self, worker: str, job: str | None) -> Claimed | None:
        return self._post_for(Claimed, "/jobs/claim", Claim(worker=worker, job=job))

    def heartbeat(self, job: str, job_token: str, body: Heartbeat) -> HeartbeatReply:
        reply = self._post_for(HeartbeatReply, f"/jobs/{job}/heartbeat", body, token=job_token)
        return reply or HeartbeatReply()

    def post_records(self, job: str, job_token: str, attempt: int, records: list[Record]) -> int:
        body = RecordBatch(attempt=attempt, records=[*records])
        reply = self._post_for(RecordReply, f"/jobs/{job}/records", body, token=job_token)
        return reply.acknowledged if reply else 0

    def next_call(self, worker: str, kinds: list[CallKind], wait_seconds: float) -> CallMessage | None:
        body = NextCall(worker=worker, kinds=kinds, wait_seconds=wait_seconds)
        timeout = httpx.Timeout(10.0, read=wait_seconds + _POLL_MARGIN_SECONDS)
        return self._post_for(CallMessage, "/calls/next", body, timeout=timeout)

    def post_chunk(self, call: str, chunk: CallChunk) -> None:
        self._post(f"/calls/{call}/chunks", chunk, exclude_unset=True)

    def answer_call(self, call: str, answer: CallAnswer) -> None:
        self._post(f"/calls/{call}/answer", answer)

    def put_blob(self, path: Path, sha256: str, kind: str, token: str | None = None) -> None:
        """Upload an immutable file as the blob `sha256`. token: the job's token; the worker's by default."""
        url: str = f"/blobs/{sha256}"
        headers = self._headers(token) | {"content-length": str(path.stat().st_size)}
        params: dict[str, str] | None = {"kind": kind}
        for _ in range(3):
            # Redirects by hand: the body has to be read again and the token must not be forwarded.
            response = self._send("PUT", url, content=_chunks(path), headers=headers, params=params)
            if response.status_code not in (307, 308):
                return
            url, params = response.headers["location"], None
            headers = {"content-length": headers["content-length"]}
        raise BackendAway(
            "The object store redirected an upload three times without accepting it.", code="redirect_loop"
        )

    def get_blob(
        self,
        sha256: str,
        path: Path,
        token: str | None = None,
        on_progress: ProgressCallback = ignore_progress,
    ) -> None:
        """Download a blob, all or nothing. Raises BackendAway if its hash does not match."""
        part = path.with_name(f"{path.name}.part")
        digest = hashlib.sha256()
        try:
            with (
                self._client.stream(
                    "GET", f"/blobs/{sha256}", headers=self._headers(token), follow_redirects=True
                ) as response,
                part.open("wb") as file,
            ):
                if response.status_code >= 400:
                    response.read()
                _raise_for(response)
                for chunk in response.iter_bytes(_CHUNK):
                    digest.update(chunk)
                    file.write(chunk)
                    on_progress()
            if digest.hexdigest() != sha256:
                message = f"The object {sha256[:12]}… arrived damaged: its content has another SHA-256."
                raise BackendAway(message, code="blob_damaged")
            part.replace(path)
        except httpx.TransportError as error:
            raise BackendAway(f"The backend cannot be reached: {error}") from error
        finally:
            part.unlink(missing_ok=True)

    def _headers(self, token: str | None = None) -> dict[str, str]:
        return {"authorization": f"Bearer {token or self._token}", PROTOCOL_HEADER: str(PROTOCOL)}

    def _post(
        self,
        path: str,
        body: BaseModel,
        *,
        token: str | None = None,
        exclude_unset: bool = False,
        **options: Any,
    ) -> httpx.Response:
        headers = self._headers(token) | {"content-type": "application/json"}
        content = body.model_dump_json(exclude_unset=exclude_unset)
        return self._send("POST", path, content=content, headers=headers, **options)

    def _post_for(
        self, shape: type[Reply], path: str, body: BaseModel, *, token: str | None = None, **options: Any
    ) -> Reply | None:
        response = self._post(path, body, token=token, **options)
        if response.status_code == 204:
            return None
        try:
            return shape.model_validate_json(response.content)
        except ValidationError as error:
            # A proxy's page or another version of the backend: retry instead of ending the job.
            raise BackendAway(f"The backend's answer to {path} is not a valid {shape.__name__}.") from error

    def _send(self, method: str, url: str, **options: Any) -> httpx.Response:
        try:
            response = self._client.request(method, url, **options)
        except httpx.TransportError as error:
            raise BackendAway(f"The backend cannot be reached: {type(error).__name__}: {error}") from error
        _raise_for(response)
        return response


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _raise_for(response: httpx.Response) -> None:
    status = response.status_code
    if status < 400:
        return
    code, message, hint = None, f"The server answered {response.request.url.path} with status {status}.", None
    try:
        inner = response.json()["error"]
        code, message, hint = inner.get("code"), inner.get("message") or message, inner.get("hint")
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # not our error envelope: a proxy or an object store
    if status == 409 and code == "lease_lost":
        raise LeaseLost(message, hint=hint)
    if status >= 500 or status in (408, 429):
        raise BackendAway(message, code=code)
    raise WorkerApiRefused(message, status=status, code=code, hint=hint)
