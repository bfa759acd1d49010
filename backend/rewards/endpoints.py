"""Endpoints of rewards."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Reader, Writer
from backend.data.database import DatabaseDep, Session
from backend.http.conditional import IfMatch, tagged
from backend.http.cursors import encode_cursor
from backend.http.idempotency import Once, fingerprint
from backend.http.strict_json import StrictRoute
from backend.models import Reward
from backend.rewards import service
from backend.rewards.service import Account, RewardSource
from backend.rpc.client import CallsDep
from reinforge.errors import InvalidInput
from reinforge.schemas.common import Page
from reinforge.schemas.resources import (
    RevisionCreate,
    RewardCreate,
    RewardDetail,
    RewardRevision,
    RewardSummary,
    RewardTest,
    RewardTestResult,
    written,
)

router = APIRouter(prefix="/api/v1", tags=["rewards"], route_class=StrictRoute)


async def _detail(session: AsyncSession, reward: Reward) -> RewardDetail:
    revisions = [
        RewardRevision.model_validate(revision) for revision in await service.revisions(session, reward)
    ]
    (summary,) = await service.summaries(session, [reward])
    return RewardDetail(**summary.model_dump(), revisions=revisions)


@router.post("/rewards", status_code=201, operation_id="createReward", response_model=RewardDetail)
async def create(body: RewardCreate, session: Session, calls: CallsDep, once: Once, who: Writer) -> Response:
    """Store a reward once a worker's sandbox has loaded it. If it does not load, the error names the line."""
    entries, _ = await service.validate(calls, [RewardSource(body.name, body.text, body.entry)])
    if (stored := await once.begin(session, fingerprint(body.model_dump_json()))) is not None:
        return stored
    reward = await service.create(session, who.project_id, body, entries[0], who.name)
    return await once.finish(session, 201, await _detail(session, reward))


@router.get("/rewards", operation_id="listRewards")
async def list_rewards(
    session: Session, who: Reader, limit: Annotated[int, Query(ge=1, le=100)] = 50, after: str | None = None
) -> Page[RewardSummary]:
    """All rewards, newest first."""
    rows, more = await service.page(session, who.project_id, limit=limit, after=after)
    cursor = encode_cursor(rows[-1].created_at, rows[-1].id) if more else None
    return Page(data=await service.summaries(session, rows), has_more=more, next_cursor=cursor)


@router.get("/rewards/{id}", operation_id="getReward")
async def get(id: str, response: Response, session: Session, who: Reader) -> RewardDetail:
    """The reward with all its revisions, newest first."""
    return tagged(await _detail(session, await service.get(session, who.project_id, id)), response)


@router.post(
    "/rewards/{id}/revisions",
    status_code=201,
    operation_id="createRewardRevision",
    response_model=RewardDetail,
)
async def revise(
    id: str,
    body: RevisionCreate,
    request: Request,
    database: DatabaseDep,
    calls: CallsDep,
    match: IfMatch,
    who: Writer,
    once: Once,
) -> Response:
    """Store the revision that follows the one in If-Match. Existing jobs keep their revision."""
    request_hash = once.request_hash(await request.body())
    async with database.transaction() as session:
        if (stored := await once.peek(session, request_hash)) is not None:
            return stored  # before If-Match, which names what the first one has changed
        reward = await service.get(session, who.project_id, id)
        match.check(await _detail(session, reward))
    entry = body.entry if "entry" in body.model_fields_set else reward.entry
    entries, _ = await service.validate(calls, [RewardSource(reward.name, body.text, entry)])
    async with database.transaction() as session:
        if (stored := await once.begin(session, request_hash)) is not None:
            return stored
        locked = await service.get(session, who.project_id, id, lock=True)
        match.check(await _detail(session, locked))
        reward = await service.revise(session, who.project_id, id, body.text, entry, entries[0])
        return await once.finish(session, 201, await _detail(session, reward))


@router.post("/rewards/test", operation_id="testRewardSource")
async def test_source(body: RewardTest, calls: CallsDep, who: Writer) -> RewardTestResult:
    """Score the given completions with code that is not stored."""
    if (body.source is None) == (body.grader is None):
        raise InvalidInput(
            "Give exactly one of `source` and `grader`.",
            param="source",
            hint="POST /rewards/{id}/test tests a stored reward.",
        )
    source = written(body.source, body.grader)
    account = Account(who.project_id)
    return await service.test(calls, source, body.entry, body.granularity, "reward", body, account)


@router.post("/rewards/{id}/test", operation_id="testReward")
async def test_stored(
    id: str, body: RewardTest, database: DatabaseDep, calls: CallsDep, who: Writer
) -> RewardTestResult:
    """Score the given completions with a stored reward's newest revision."""
    if body.source is not None or body.grader is not None:
        raise InvalidInput(
            "`source` and `grader` belong to POST /rewards/test; this endpoint tests a stored reward.",
            param="source" if body.source is not None else "grader",
        )
    async with database.transaction() as session:
        reward, revision = await service.get_revision(session, who.project_id, id)
    fields_set = body.model_fields_set
    entry = body.entry if "entry" in fields_set else revision.entry
    granularity = body.granularity if "granularity" in fields_set else reward.granularity
    account = Account(who.project_id, reward.id)
    return await service.test(calls, revision.source, entry, granularity, reward.name, body, account)
