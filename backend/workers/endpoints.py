"""Endpoints of the worker API, and the list of workers."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from backend.access.auth import Reader, SettingsDep, bearer, require_worker
from backend.data.caches import unused_jobs, unused_objects
from backend.data.database import DatabaseDep, Session
from backend.data.objects import ObjectsDep, find_stored, note_upload
from backend.data.sealing import SealerDep
from backend.http.strict_json import WorkerRoute
from backend.rpc.broker import BrokerDep
from backend.rpc.client import CallsDep
from backend.workers import blobs, service
from backend.workers.blob_access import BlobHolder
from backend.workers.call_secrets import with_secrets
from backend.workers.claim import claim
from backend.workers.heartbeat import renew_lease
from backend.workers.records import receive
from reinforge.schemas.common import Page
from reinforge.schemas.resources import WorkerInfo
from reinforge.schemas.rpc.base import dump
from reinforge.schemas.worker_api import (
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

router = APIRouter()
worker_router = APIRouter(
    prefix="/worker/v1", tags=["worker API"], route_class=WorkerRoute, dependencies=[Depends(require_worker)]
)
jobs_router = APIRouter(prefix="/worker/v1", tags=["worker API"], route_class=WorkerRoute)

Sha256 = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
NO_CONTENT: dict[int | str, dict[str, Any]] = {204: {"description": "Nothing to do."}}
ALREADY_STORED: dict[int | str, dict[str, Any]] = {200: {"description": "It was already stored."}}


async def job_token(request: Request) -> str | None:
    return bearer(request)


JobToken = Annotated[str | None, Depends(job_token)]


@router.get("/api/v1/workers", tags=["workers"], operation_id="listWorkers")
async def list_workers(session: Session, who: Reader, broker: BrokerDep) -> Page[WorkerInfo]:
    return Page(data=await service.list_workers(session, who.project_id, broker))


@worker_router.post("/workers", status_code=204, operation_id="registerWorker")
async def register(body: Register, session: Session) -> None:
    """Register a worker. It repeats this every 10 s as its keep-alive."""
    await service.register(session, body)


@worker_router.post("/caches", operation_id="findUnused")
async def find_unused(body: Cached, session: Session) -> Unused:
    """The cached objects and jobs' files that a worker may delete, because nothing needs them any more."""
    return Unused(
        objects=sorted(await unused_objects(session, body.objects)),
        jobs=sorted(await unused_jobs(session, body.jobs)),
    )


@worker_router.post("/jobs/claim", responses=NO_CONTENT, response_model=Claimed, operation_id="claimJob")
async def claim_job(
    body: Claim, session: Session, sealer: SealerDep, settings: SettingsDep
) -> Claimed | Response:
    return await claim(session, body, sealer, settings.lease_seconds) or Response(status_code=204)


@jobs_router.post("/jobs/{id}/heartbeat", operation_id="heartbeat")
async def heartbeat(
    id: str, body: Heartbeat, session: Session, token: JobToken, settings: SettingsDep
) -> HeartbeatReply:
    return await renew_lease(session, id, token, body, settings.lease_seconds)


@jobs_router.post("/jobs/{id}/records", operation_id="storeRecords")
async def store_records(
    id: str, body: RecordBatch, request: Request, session: Session, token: JobToken
) -> RecordReply:
    return await receive.store(session, id, token, body, request.app.state.wake_ups)


@jobs_router.put(
    "/blobs/{sha256}",
    status_code=201,
    responses=ALREADY_STORED,
    response_class=Response,
    operation_id="putBlob",
)
async def put_blob(
    sha256: Sha256,
    request: Request,
    database: DatabaseDep,
    objects: ObjectsDep,
    settings: SettingsDep,
    holder: BlobHolder,
    kind: Annotated[str, Query(pattern=r"^[a-z_]{1,40}$")] = "blob",
) -> Response:
    """Store an object of a job. 200 if this job has uploaded it before, else 201, even if another job has."""
    job = holder.require_writer()
    await blobs.receive(
        objects,
        request.stream(),
        sha256=sha256,
        kind=kind,
        folder=settings.home_folder / "uploads",
        limit=settings.blob_limit_bytes,
    )
    async with database.transaction() as session:
        new = await note_upload(session, job, sha256)
    return Response(status_code=201 if new else 200)


@jobs_router.get("/blobs/{sha256}", response_class=StreamingResponse, operation_id="getBlob")
async def get_blob(
    sha256: Sha256, session: Session, objects: ObjectsDep, holder: BlobHolder
) -> StreamingResponse:
    """Read an object. A job token reads objects of the job, the workers' token those that a running call
    refers to.
    """
    await holder.require_readable(session, sha256)
    row = await find_stored(session, sha256)
    await objects.require_whole(row)
    headers = {"content-length": str(row.bytes), "etag": f'"{sha256}"'}
    return StreamingResponse(objects.stream(sha256), headers=headers, media_type="application/octet-stream")


@worker_router.post("/calls/next", responses=NO_CONTENT, response_model=CallMessage, operation_id="nextCall")
async def next_call(
    body: NextCall, request: Request, calls: CallsDep, sealer: SealerDep
) -> CallMessage | Response:
    """Long poll: the next call of these kinds, or 204 after `wait_seconds`."""
    message = await calls.take(
        body.worker, body.kinds, wait_seconds=body.wait_seconds, gone=request.is_disconnected
    )
    if message is not None:
        message = await with_secrets(message, calls, sealer)
    return message or Response(status_code=204)


@worker_router.post("/calls/{id}/chunks", status_code=204, operation_id="storeCallChunk")
async def store_call_chunk(id: str, body: CallChunk, calls: CallsDep) -> None:
    await calls.store_chunk(id, body.seq, [dump(event) for event in body.events])


@worker_router.post("/calls/{id}/answer", status_code=204, operation_id="answerCall")
async def answer_call(id: str, body: CallAnswer, calls: CallsDep) -> None:
    await calls.answer(id, body.result, body.error)
