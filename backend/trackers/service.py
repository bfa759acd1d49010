"""Trackers of a project, and the exports of jobs to them."""

from collections.abc import Sequence

from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner
from backend.data.database import flush_unique, lock_row
from backend.data.ids import new_id
from backend.data.sealing import Sealer
from backend.http import addresses
from backend.http.conditional import Match
from backend.models import ExportRow, Job, TrackerRow, now
from backend.trackers import repository, wandb
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.net.outbound import ALLOW_VARIABLE, Guard
from reinforge.schemas.trackers import (
    JobExport,
    Tracker,
    TrackerChange,
    TrackerCreate,
    check_tracker,
)

MOST = 20


async def all_of(session: AsyncSession, project_id: str) -> list[Tracker]:
    return [view(row) for row in await repository.of_project(session, project_id)]


async def get(session: AsyncSession, project_id: str, id: str) -> TrackerRow:
    row = await repository.find(session, project_id, id)
    if row is None:
        raise NotFound(
            f"There is no tracker {id}.", code="tracker_not_found", hint="`reinforge tracker list` shows all."
        )
    return row


async def check_address(guard: Guard, who: Principal, url: str) -> None:
    """Resolves names: use outside transactions. Raises NotAllowed, InvalidInput."""
    require_owner(who, "trackers")
    hint = f"{ALLOW_VARIABLE} has to be set for the API and the background process."
    await addresses.check_address(guard, url, param="url", hint=hint)


async def create(session: AsyncSession, who: Principal, body: TrackerCreate, sealer: Sealer) -> TrackerRow:
    require_owner(who, "trackers")
    if body.kind == "wandb":
        require_library()
    if len(await repository.of_project(session, who.project_id)) >= MOST:
        raise StateConflict(
            f"A project has {MOST} trackers at most.", code="too_many_trackers", hint="Delete one."
        )
    row = TrackerRow(
        id=new_id("trk_"),
        project_id=who.project_id,
        key_sealed=None,
        created_by=who.name,
        **body.model_dump(exclude={"api_key"}),
    )
    _keep_key(row, body.api_key, sealer)
    session.add(row)
    conflict = StateConflict(
        f"There is a tracker called {body.name!r} already.",
        code="tracker_exists",
        param="name",
        hint="Change it, or give the new one another name.",
    )
    await flush_unique(session, conflict)
    return row


def require_library() -> None:
    if not wandb.is_installed():
        raise StateConflict(
            "The server has no W&B library.",
            code="export_unavailable",
            param="kind",
            hint="The operator can install it for the API and the background process: pip install 'wandb>=0.27,<1'.",
        )


async def change(
    session: AsyncSession, who: Principal, id: str, body: TrackerChange, sealer: Sealer, match: Match
) -> TrackerRow:
    """A new address needs the key again, so that changing it cannot reveal the key."""
    require_owner(who, "trackers")
    row = await get(session, who.project_id, id)
    await lock_row(session, row)
    match.check(view(row))
    changes = body.model_dump(exclude_unset=True, exclude={"api_key"})
    fields = {
        name: value for name, value in changes.items() if value is not None or name in ("entity", "username")
    }
    if fields.get("url", row.url) != row.url and row.key_sealed and "api_key" not in body.model_fields_set:
        raise InvalidInput(
            "The new address of the tracker needs the API key again.",
            code="key_needed",
            param="api_key",
            hint="Send `api_key` with `url`; null means that the tracker needs no key.",
        )
    try:
        check_tracker(row.kind, fields.get("url", row.url), fields.get("destination", row.destination))
    except ValueError as error:
        message = f"{str(error)[:1].upper()}{str(error)[1:]}."
        raise InvalidInput(message, code="invalid_tracker", param="url") from error
    elsewhere = any(
        fields.get(name, getattr(row, name)) != getattr(row, name)
        for name in ("url", "destination", "entity")
    )
    for name, value in fields.items():
        setattr(row, name, value)
    if "api_key" in body.model_fields_set:
        _keep_key(row, body.api_key, sealer)
    row.updated_at = now()
    await session.flush()
    await repository.restart(session, row.id, elsewhere=elsewhere)
    return row


async def remove(session: AsyncSession, who: Principal, id: str) -> None:
    require_owner(who, "trackers")
    await session.delete(await get(session, who.project_id, id))


async def check_exports(session: AsyncSession, project_id: str, names: Sequence[str]) -> list[InvalidInput]:
    problems = []
    for index, name in enumerate(names):
        try:
            tracker = await get(session, project_id, name)
            if tracker.kind == "wandb":
                require_library()
        except (NotFound, StateConflict) as error:
            param = f"export[{index}]"
            problems.append(InvalidInput(error.message, code=error.code, param=param, hint=error.hint))
    return problems


async def export_new_job(session: AsyncSession, job: Job) -> None:
    chosen = job.resolved_spec.get("export", ())
    if job.purpose == "train":
        for tracker in await repository.of_project(session, job.project_id):
            if tracker.every_job or tracker.name in chosen or tracker.id in chosen:
                session.add(_export(job, tracker))


async def start_export(session: AsyncSession, who: Principal, job_id: str, tracker_id: str) -> JobExport:
    job = await _job(session, who.project_id, job_id)
    tracker = await get(session, who.project_id, tracker_id)
    if tracker.kind == "wandb":
        require_library()
    await lock_row(session, job)
    for export, of_export in await repository.of_job(session, job.id):
        if of_export.id == tracker.id:
            if export.state != "done":
                export.state, export.tries, export.next_at = "pending", 0, now()
            return export_view(export, tracker)
    export = _export(job, tracker)
    session.add(export)
    await session.flush()
    return export_view(export, tracker)


async def exports_of(session: AsyncSession, project_id: str, job_id: str) -> list[JobExport]:
    job = await _job(session, project_id, job_id)
    return [export_view(export, tracker) for export, tracker in await repository.of_job(session, job.id)]


async def stop_export(session: AsyncSession, project_id: str, job_id: str, id: str) -> None:
    job = await _job(session, project_id, job_id)
    export = await session.get(ExportRow, id)
    if export is None or export.job_id != job.id:
        raise NotFound(f"The job has no export {id}.", code="export_not_found")
    await session.delete(export)


async def _job(session: AsyncSession, project_id: str, id: str) -> Job:
    job = await repository.job_of(session, project_id, id)
    if job is None:
        raise NotFound(f"There is no job {id}.", code="job_not_found", param="id")
    return job


def _export(job: Job, tracker: TrackerRow) -> ExportRow:
    moment = now()
    return ExportRow(
        id=new_id("exp_"),
        job_id=job.id,
        tracker_id=tracker.id,
        state="pending",
        step=-1,
        tries=0,
        next_at=moment,
        created_at=moment,
        updated_at=moment,
    )


def view(row: TrackerRow) -> Tracker:
    fields = ("id", "name", "kind", "url", "destination", "entity", "username", "every_job")
    more = ("created_by", "created_at", "updated_at")
    values = {name: getattr(row, name) for name in (*fields, *more)}
    return Tracker.model_validate(values | {"has_key": row.key_sealed is not None})


def export_view(row: ExportRow, tracker: TrackerRow) -> JobExport:
    return JobExport.model_validate(
        {
            "id": row.id,
            "job": row.job_id,
            "tracker": tracker.name,
            "kind": tracker.kind,
            "destination": tracker.destination,
            "state": row.state,
            "step": row.step if row.step >= 0 else None,
            "url": row.run_url,
            "error": row.error,
            "tries": row.tries,
            "next_at": row.next_at if row.state in repository.OPEN else None,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
        }
    )


def _keep_key(row: TrackerRow, key: SecretStr | None, sealer: Sealer) -> None:
    row.key_sealed = None if key is None else sealer.seal(f"tracker:{row.id}", key.get_secret_value())
