"""Creation of a job: resolve references, check on workers, run golden cases, save, queue."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Depends, Request
from fastapi.responses import Response
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, SettingsDep
from backend.base_models import service as base_models
from backend.data.database import Database, DatabaseDep
from backend.data.objects import Objects, ObjectsDep
from backend.http.idempotency import Idempotency
from backend.jobs import service
from backend.jobs.submission.start_adapter import StartAdapter
from backend.jobs.submission.validate_golden import ask_golden_cases
from backend.jobs.submission.validate_on_worker import validate
from backend.jobs.submission.validate_references import look_up
from backend.models import Job
from backend.rpc.client import Calls, CallsDep
from backend.rpc.wake_ups import WakeUps
from backend.settings import Settings
from reinforge.preflight import probe
from reinforge.spec import JobSpec

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SubmitServices:
    database: Database
    calls: Calls
    objects: Objects
    settings: Settings
    wake_ups: WakeUps


async def _services(
    request: Request, database: DatabaseDep, calls: CallsDep, objects: ObjectsDep, settings: SettingsDep
) -> SubmitServices:
    return SubmitServices(database, calls, objects, settings, request.app.state.wake_ups)


ServicesDep = Annotated[SubmitServices, Depends(_services)]


@dataclass(frozen=True)
class Draft:
    spec: JobSpec
    raw_spec: dict[str, Any]
    purpose: Literal["train", "preflight"] = "train"
    openai: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    start: StartAdapter | None = None
    default_name: str | None = None


class Submission(ABC, Generic[Answer]):
    def __init__(self, project_id: str, created_by: str) -> None:
        self.project_id = project_id
        self.created_by = created_by

    @property
    def model(self) -> str | None:
        return None

    async def earlier_answer(self, session: AsyncSession) -> Answer | None:
        return None

    @abstractmethod
    async def draft(self, session: AsyncSession) -> Draft: ...

    async def reserve(self, session: AsyncSession) -> Answer | None:
        """Block equal requests until commit; returns the answer to an earlier one, if any."""
        return None

    async def final_draft(self, session: AsyncSession, draft: Draft) -> Draft:
        return draft

    @abstractmethod
    async def answer(self, session: AsyncSession, job: Job) -> Answer: ...

    def error_names(self) -> AbstractContextManager[None]:
        return nullcontext()


class HttpSubmission(Submission[Response]):
    def __init__(self, who: Principal, once: Idempotency, fingerprint: str) -> None:
        super().__init__(who.project_id, who.name)
        self._once = once
        self._fingerprint = fingerprint

    async def earlier_answer(self, session: AsyncSession) -> Response | None:
        return await self._once.peek(session, self._fingerprint)

    async def reserve(self, session: AsyncSession) -> Response | None:
        return await self._once.begin(session, self._fingerprint)


class SpecSubmission(HttpSubmission):
    def __init__(self, who: Principal, once: Idempotency, fingerprint: str, draft: Draft) -> None:
        super().__init__(who, once, fingerprint)
        self._draft = draft

    @property
    def model(self) -> str:
        return self._draft.spec.model

    async def draft(self, session: AsyncSession) -> Draft:
        return self._draft


async def submit(services: SubmitServices, submission: Submission[Answer]) -> Answer:
    """Validate a job and queue it. Raises InvalidInput with the field as `param`, NotFound if the job to fork
    does not exist, Unavailable without a worker.
    """
    database, project_id = services.database, submission.project_id
    if submission.model is not None:
        await base_models.ensure_builtin(database, services.calls, submission.model)
    async with database.transaction() as session:
        if (earlier := await submission.earlier_answer(session)) is not None:
            return earlier
        draft = await submission.draft(session)
        with submission.error_names():
            plan = await look_up(session, project_id, draft.spec, draft.start)
    with submission.error_names():
        plan = await validate(
            plan, services.calls, services.objects, service.dataset_cache(services.settings)
        )
        await ask_golden_cases(plan, project_id, database, services.calls)
    plan = replace(
        plan,
        spec=probe(plan.spec) if draft.purpose == "preflight" else plan.spec,
        warnings=[*plan.warnings, *draft.warnings],
    )
    async with database.transaction() as session:
        if (earlier := await submission.reserve(session)) is not None:
            return earlier
        draft = await submission.final_draft(session, draft)
        with submission.error_names():
            # Again: a reference may have been deleted meanwhile.
            await look_up(session, project_id, draft.spec, draft.start)
        job = await service.create(
            session, project_id, plan, draft.raw_spec, submission.created_by, services.wake_ups,
            purpose=draft.purpose, openai=draft.openai, default_name=draft.default_name,
        )  # fmt: skip
        return await submission.answer(session, job)
