"""Promotion of adapters to aliases."""

import re
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal
from backend.adapters import aliases
from backend.adapters import service as adapters
from backend.base_models import service as base_models
from backend.data.database import flush_unique
from backend.data.ids import new_id
from backend.http.conditional import Match
from backend.jobs import service as jobs
from backend.jobs.card.service import card_of
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.models import Adapter, AdapterAlias, AdapterAliasChange, Deployment, Project, now
from reinforge.errors import InvalidInput, NotFound, Stale, StateConflict
from reinforge.report_card import conditions
from reinforge.schemas.aliases import AliasChange, AliasInfo, AliasSet
from reinforge.schemas.report_card import CardRequirement

MOST = 100
"""Maximum number of aliases per project."""
HISTORY = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_IDS = re.compile(r"(?i)(adp_|ftckpt_|ftjob-|ft:)")


async def views(session: AsyncSession, project_id: str) -> list[AliasInfo]:
    return [_view(alias, adapter) for alias, adapter in await aliases.all_of(session, project_id)]


async def view(session: AsyncSession, project_id: str, name: str) -> AliasInfo:
    alias = await _get(session, project_id, name)
    return _view(alias, await session.get_one(Adapter, alias.adapter_id))


async def _get(session: AsyncSession, project_id: str, name: str, *, lock: bool = False) -> AdapterAlias:
    alias = await aliases.find(session, project_id, name, lock=lock)
    if alias is None:
        raise _unknown(name)
    return alias


def _unknown(name: str) -> NotFound:
    return NotFound(
        f"There is no alias {name}.",
        code="alias_not_found",
        param="name",
        hint="`reinforge alias list` shows all.",
    )


async def promote(
    session: AsyncSession,
    cache: ObjectCache,
    who: Principal,
    name: str,
    body: AliasSet,
    match: Match,
    *,
    gpu_hour_price: float | None,
) -> AliasInfo:
    """Create the alias, or move it to another adapter.

    Raises InvalidInput, MatchNeeded, NotFound, Stale, StateConflict (`card_not_passed`, `name_taken`,
    `too_many_aliases`).
    """
    alias = await aliases.find(session, who.project_id, name, lock=True)
    if alias is None:
        try:
            match.check_absent()
        except Stale as error:
            raise _unknown(name) from error
        await _check_name(session, who.project_id, name)
    else:
        match.check(_view(alias, await session.get_one(Adapter, alias.adapter_id)))
    try:
        adapter = await adapters.get(session, who.project_id, body.adapter)
    except NotFound as error:
        raise InvalidInput(error.message, code=error.code, hint=error.hint, param="adapter") from error
    requirement = await _require(session, cache, adapter, body.require, gpu_hour_price)
    # The card takes seconds, in which somebody may delete the adapter.
    if not await aliases.lock_adapter(session, adapter.id):
        raise InvalidInput(f"There is no adapter {body.adapter}.", code="adapter_not_found", param="adapter")
    previous = None if alias is None else alias.adapter_id
    if alias is None:
        alias = AdapterAlias(
            id=new_id("als_"),
            project_id=who.project_id,
            name=name,
            adapter_id=adapter.id,
            updated_by=who.name,
        )
        session.add(alias)
        conflict = StateConflict(
            f"Somebody else created the alias {name} just now.", code="name_taken", param="name"
        )
        await flush_unique(session, conflict)
    else:
        alias.adapter_id, alias.updated_by, alias.updated_at = adapter.id, who.name, now()
    _note(session, who, name, adapter, previous, requirement)
    await session.flush()
    return _view(alias, adapter)


async def remove(session: AsyncSession, who: Principal, name: str) -> None:
    alias = await _get(session, who.project_id, name, lock=True)
    _note(session, who, name, None, alias.adapter_id, None)
    await session.delete(alias)
    await session.flush()


async def history(session: AsyncSession, project_id: str, name: str) -> list[AliasChange]:
    query = select(AdapterAliasChange).where(
        AdapterAliasChange.project_id == project_id, AdapterAliasChange.name == name
    )
    query = query.order_by(AdapterAliasChange.created_at.desc(), AdapterAliasChange.id.desc()).limit(HISTORY)
    rows: Sequence[AdapterAliasChange] = (await session.scalars(query)).all()
    if not rows:
        await _get(session, project_id, name)
    return [
        AliasChange(
            name=row.name,
            adapter=row.adapter_id,
            previous=row.previous_id,
            job=row.job_id,
            requirement=None if row.requirement is None else CardRequirement.model_validate(row.requirement),
            created_by=row.created_by,
            created_at=row.created_at,
        )
        for row in rows
    ]


def _note(
    session: AsyncSession,
    who: Principal,
    name: str,
    adapter: Adapter | None,
    previous: str | None,
    requirement: CardRequirement | None,
) -> None:
    session.add(
        AdapterAliasChange(
            id=new_id("alc_"),
            project_id=who.project_id,
            name=name,
            adapter_id=None if adapter is None else adapter.id,
            previous_id=previous,
            job_id=None if adapter is None else adapter.job_id,
            requirement=None if requirement is None else requirement.model_dump(mode="json"),
            created_by=who.name,
        )
    )


async def _check_name(session: AsyncSession, project_id: str, name: str) -> None:
    if not _NAME.fullmatch(name) or _IDS.match(name):
        raise InvalidInput(
            f"{name[:80]!r} is not a valid alias name.",
            code="invalid_name",
            param="name",
            hint="Use up to 63 letters, digits, dots, dashes and underscores, but no id such as adp_….",
        )
    try:
        await base_models.get(session, project_id, name)
        taken = "a base model"
    except NotFound:
        query = select(Deployment.id).where(Deployment.project_id == project_id, Deployment.name == name)
        taken = "a deployment" if await session.scalar(query) is not None else ""
        if name in base_models.BUILTIN:
            taken = "a base model"
    if taken:
        raise StateConflict(
            f"{name} is already the name of {taken}.",
            code="name_taken",
            param="name",
            hint="Requests use one namespace for models, deployments and aliases: choose an unused name.",
        )
    count = await session.scalar(select(func.count()).where(AdapterAlias.project_id == project_id))
    if (count or 0) >= MOST:
        raise StateConflict(
            f"The project has {MOST} aliases, its limit.", code="too_many_aliases", hint="Delete unused ones."
        )


async def _require(
    session: AsyncSession,
    cache: ObjectCache,
    adapter: Adapter,
    text: str | None,
    gpu_hour_price: float | None,
) -> CardRequirement | None:
    """Check the report card against the project's and the request's conditions."""
    if text is not None:
        conditions.parse(text)
    project = await session.get_one(Project, adapter.project_id)
    required = ", ".join(part for part in (project.required_card, text) if part)
    if not required:
        return None
    if adapter.job_id is None:
        raise StateConflict(
            "A report card is required, but an uploaded adapter has none.",
            code="card_not_passed",
            param="adapter",
            hint=f"Required: {required}. Start a job from the adapter: the job's card compares both.",
        )
    job = await jobs.get(session, adapter.project_id, adapter.job_id)
    try:
        card = await card_of(
            session, cache, job, step=adapter.step, require=required, gpu_hour_price=gpu_hour_price
        )
    except NotFound as error:
        raise StateConflict(
            f"The job has no evaluation at step {adapter.step}, the step of the adapter.",
            code="card_not_passed",
            param="adapter",
            hint=f"Required: {required}.",
        ) from error
    requirement = card.requirement
    assert requirement is not None
    if not requirement.met:
        failed = [condition for condition in requirement.conditions if not condition.met]
        raise StateConflict(
            "The report card does not pass: "
            + " ".join(f"{condition.condition} is required. {condition.message}" for condition in failed),
            code="card_not_passed",
            param="adapter",
            hint=f"See `reinforge job card {job.id} --step {adapter.step}`.",
        )
    return requirement


def _view(alias: AdapterAlias, adapter: Adapter) -> AliasInfo:
    return AliasInfo(
        id=alias.id,
        name=alias.name,
        adapter=adapter.id,
        adapter_name=adapter.name,
        job=adapter.job_id,
        step=adapter.step,
        model=adapter.model_id,
        updated_by=alias.updated_by,
        updated_at=alias.updated_at,
        created_at=alias.created_at,
    )
