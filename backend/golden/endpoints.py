"""Endpoints for the golden cases of a reward."""

from fastapi import APIRouter

from backend.access.auth import Reader, Writer
from backend.data.database import DatabaseDep, Session
from backend.golden import service
from backend.http.idempotency import OnceWhole
from backend.http.strict_json import StrictRoute
from backend.rewards import service as rewards
from backend.rpc.client import CallsDep
from reinforge.schemas.golden import GoldenCaseList, GoldenCasesCreate, GoldenRun, GoldenRunCreate

router = APIRouter(prefix="/api/v1", tags=["golden cases"], route_class=StrictRoute)


@router.get("/rewards/{id}/golden-cases", operation_id="listGoldenCases")
async def list_cases(id: str, session: Session, who: Reader) -> GoldenCaseList:
    await rewards.get(session, who.project_id, id)
    return GoldenCaseList(data=await service.cases_of(session, id))


@router.post(
    "/rewards/{id}/golden-cases", status_code=201, dependencies=[OnceWhole], operation_id="createGoldenCases"
)
async def create(id: str, body: GoldenCasesCreate, session: Session, who: Writer) -> GoldenCaseList:
    """Store completions with their expected rewards; the reward is not run."""
    return GoldenCaseList(data=await service.add(session, who.project_id, id, body.cases, who.name))


@router.delete("/rewards/{id}/golden-cases/{case}", status_code=204, operation_id="deleteGoldenCase")
async def delete(id: str, case: str, session: Session, who: Writer) -> None:
    await service.remove(session, who.project_id, id, case)


@router.post("/rewards/{id}/golden-cases/run", operation_id="runGoldenCases")
async def run(
    id: str, body: GoldenRunCreate, database: DatabaseDep, calls: CallsDep, who: Writer
) -> GoldenRun:
    """Run all golden cases of a reward on its newest revision, on `revision`, or on code in `source`."""
    async with database.transaction() as session:
        reward, revision = await rewards.get_revision(session, who.project_id, id, body.revision)
        cases = await service.cases_of(session, id)
    entry = body.entry if "entry" in body.model_fields_set else revision.entry
    source = revision.source if body.source is None else body.source
    account = rewards.Account(who.project_id, reward.id)
    code = service.GoldenReward(account, reward.name, source, entry, reward.granularity, body.timeout_seconds)
    result = await service.run(calls, code, [service.plain(case) for case in cases])
    return service.report(id, revision.revision if body.source is None else None, cases, result)
