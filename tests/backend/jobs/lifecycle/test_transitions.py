"""Every pair of states: allowed or refused, and the columns stored with a state."""

import asyncio
from typing import Any

import pytest

from backend.data.database import Database
from backend.jobs.lifecycle.transitions import change_status, lock_job
from reinforge.errors import StateConflict
from reinforge.states import FINAL, LEASED, JobStatus
from tests.backend.server import Backend

ALLOWED = {
    "validating": "queued failed cancelling cancelled",
    "queued": "starting paused failed cancelling cancelled",
    "starting": "running queued paused failed cancelling cancelled",
    "running": "queued pausing paused succeeded failed cancelling cancelled",
    "pausing": "paused succeeded failed cancelling cancelled",
    "paused": "queued failed cancelling cancelled",
    "cancelling": "cancelled",
    "succeeded": "",
    "failed": "",
    "cancelled": "",
}
"""As `docs/jobs.md` has it."""
ROW = "SELECT status, reason, seq, lease_until IS NOT NULL, finished_at IS NOT NULL FROM job WHERE id = %s"


def change(backend: Backend, job: str, new: JobStatus) -> StateConflict | None:
    """Ask for it in a transaction of its own; the refusal, if there is one."""

    async def once() -> None:
        database = Database(backend.database_url, pool_size=1)
        try:
            async with database.transaction() as session:
                await change_status(session, await lock_job(session, job), new, reason="tried")
        finally:
            await database.close()

    try:
        asyncio.run(once())
    except StateConflict as refusal:
        return refusal
    return None


def put(backend: Backend, job: str, status: JobStatus) -> tuple[Any, ...]:
    lease = "now() + interval '1 h'" if status in LEASED else "NULL"
    ended = "now()" if status in FINAL else "NULL"
    backend.sql(
        f"UPDATE job SET status = %s, reason = NULL, lease_until = {lease}, finished_at = {ended} WHERE id = %s",
        status,
        job,
    )
    return backend.sql(ROW, job)[0]


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    return rpc_backend.create_job()


@pytest.mark.parametrize("new", JobStatus)
@pytest.mark.parametrize("old", JobStatus)
def test_the_table_decides(rpc_backend: Backend, job: str, old: JobStatus, new: JobStatus) -> None:
    before = put(rpc_backend, job, old)
    refusal = change(rpc_backend, job, new)
    stored = rpc_backend.sql(ROW, job)[0]
    if new in ALLOWED[old].split():
        leased = new in LEASED and old in LEASED
        assert (refusal, stored) == (None, (new, "tried", before[2] + 1, leased, new in FINAL))
    else:
        assert refusal is not None and (refusal.status, refusal.code) == (409, "invalid_transition")
        assert refusal.hint
        assert stored == before
