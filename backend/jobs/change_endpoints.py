"""GET, POST /jobs/{id}/changes."""

from fastapi import APIRouter

from backend.auth import Reader, Writer
from backend.calls import CallsDep
from backend.database import DatabaseDep, Session
from backend.golden import service as golden
from backend.jobs import changes, repository
from backend.strict_json import StrictRoute
from reinforge.schemas.jobs import JobChangeList, JobChangeView, RewardChangeCreate

router = APIRouter(route_class=StrictRoute)


@router.post("/jobs/{id}/changes", status_code=201, operation_id="changeJob")
async def change_job(
    id: str, body: RewardChangeCreate, database: DatabaseDep, calls: CallsDep, who: Writer
) -> JobChangeView:
    """Score with another revision from the next step on. Its golden cases have to pass.

    Until the trainer has applied it `step` is null; a resumed job applies it at the same step again.
    """
    async with database.transaction() as session:
        job = await repository.find(session, who.project_id, id)
        position, change = await changes.look_up(session, job, body)
        asked = job.resolved_spec["rewards"][position]
        cases = await golden.cases_of(session, change.revision.partition("@")[0])
    limits = (asked["granularity"], asked["timeout_seconds"]) if change.kind == "python" else ()
    code = golden.Code(who.project_id, change.name, change.source, change.entry, *limits)
    await golden.gate(calls, [(position, code, cases)])
    async with database.transaction() as session:
        return changes.view(await changes.add(session, id, change, who.name))


@router.get("/jobs/{id}/changes", operation_id="listJobChanges")
async def list_changes(id: str, session: Session, who: Reader) -> JobChangeList:
    job = await repository.find(session, who.project_id, id)
    return JobChangeList(data=[changes.view(each) for each in await changes.of_job(session, job.id)])
