"""Authorisation of blob access: by job token or, for RPCs, by the workers' shared token, which may only read
weights.
"""

from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import literal, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import SettingsDep, bearer, digest, is_worker_token
from backend.data.database import Database, DatabaseDep
from backend.models import Attempt, Call, Checkpoint, Dataset, Job, ResumeState, StepRollouts, now
from reinforge.errors import LeaseLost, NotAllowed, NotAuthenticated, NotFound
from reinforge.states import LEASED


class BlobRequester:
    def __init__(self, job: str | None) -> None:
        self.job = job

    async def require_readable(self, session: AsyncSession, sha256: str) -> None:
        if self.job is None:
            if not await _is_of_a_call(session, sha256):
                raise NotFound(f"No call under way needs the object {sha256}.", code="blob_not_found")
        elif not await _is_of_job(session, self.job, sha256):
            raise NotFound(f"No object {sha256} belongs to {self.job}.", code="blob_not_found")

    def require_writer(self) -> str:
        """Id of the job that stores a blob. Raises NotAllowed for RPC workers."""
        if self.job is None:
            raise NotAllowed(
                "The workers' shared token may not store objects.",
                code="job_token_needed",
                hint="Send the token of the attempt at the job that the object belongs to.",
            )
        return self.job


async def _holder(request: Request, settings: SettingsDep, database: DatabaseDep) -> BlobRequester:
    token = bearer(request)
    if token is None:
        raise _unknown()
    return BlobRequester(None if is_worker_token(token, settings) else await _job_of(database, token))


BlobHolder = Annotated[BlobRequester, Depends(_holder)]


async def _job_of(database: Database, token: str) -> str:
    async with database.transaction() as session:
        rows = await session.execute(
            select(Attempt.job_id, Attempt.number, Attempt.ended_at, Job.attempt, Job.status)
            .join(Job, Job.id == Attempt.job_id)
            .where(Attempt.token_sha256 == digest(token))
        )
        row = rows.one_or_none()
    if row is None:
        raise _unknown()
    if row.number != row.attempt or row.ended_at is not None or row.status not in LEASED:
        raise LeaseLost(
            f"Attempt {row.number} of {row.job_id} no longer holds the job.",
            hint="Stop the trainer; the platform decides what becomes of the job.",
        )
    return str(row.job_id)


async def _is_of_job(session: AsyncSession, job_id: str, sha256: str) -> bool:
    attempt_objects = [
        select(literal(1)).where(table.job_id == job_id, table.sha256 == sha256).exists()
        for table in (ResumeState, Checkpoint, StepRollouts)
    ]
    data = (
        select(literal(1))
        .where(
            Job.id == job_id,
            or_(Dataset.id == Job.dataset_id, Dataset.id == Job.held_out_dataset_id),
            Dataset.sha256 == sha256,
        )
        .exists()
    )
    start = select(literal(1)).where(Job.id == job_id, Job.start_sha256 == sha256).exists()
    return bool(await session.scalar(select(or_(data, start, *attempt_objects))))


async def _is_of_a_call(session: AsyncSession, sha256: str) -> bool:
    names_adapter = Call.payload["adapter"]["sha256"].astext == sha256
    under_way = select(literal(1)).where(Call.state == "taken", Call.deadline > now(), names_adapter).exists()
    return bool(await session.scalar(select(under_way)))


def _unknown() -> NotAuthenticated:
    return NotAuthenticated(
        "The worker token is missing or wrong.",
        code="invalid_worker_token",
        hint="Set REINFORGE_WORKER_TOKEN to the same value for the backend and its workers.",
    )
