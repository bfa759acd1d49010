"""Model names of the OpenAI API: their form and what they resolve to."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.models import Job, Project
from backend.openai import model_names
from reinforge.errors import NotFound
from tests.backend.server import Backend


def inside(backend: Backend, action: Callable[[AsyncSession], Awaitable[Any]]) -> Any:
    async def once() -> Any:
        database = Database(backend.database_url, pool_size=2)
        try:
            async with database.transaction() as session:
                return await action(session)
        finally:
            await database.close()

    return asyncio.run(once())


def project(backend: Backend) -> str:
    [(id,)] = backend.sql("SELECT id FROM project WHERE name = 'default'")
    return str(id)


def name_of(backend: Backend, job: str, step: int | None = None) -> str:
    async def look(session: AsyncSession) -> str:
        row = await session.get_one(Job, job)
        return model_names.tuned(row, await session.get_one(Project, row.project_id), step=step)

    return str(inside(backend, look))


def resolve(backend: Backend, name: str, project_id: str | None = None) -> tuple[str, int | None]:
    async def look(session: AsyncSession) -> tuple[str, int | None]:
        base, checkpoint = await model_names.resolve(session, project_id or project(backend), name)
        return base.id, checkpoint.step if checkpoint else None

    resolved: tuple[str, int | None] = inside(backend, look)
    return resolved


@pytest.fixture
def finished(rpc_backend: Backend) -> str:
    """A job that succeeded after two steps, with a checkpoint after each."""
    job = rpc_backend.create_job()
    rpc_backend.sql("UPDATE job SET openai = %s WHERE id = %s", Jsonb({"suffix": "my sums/2"}), job)
    trainer = rpc_backend.claim(job)
    trainer.start(steps=2)
    for step in (1, 2):
        trainer.step(step)
        trainer.checkpoint(step, reward=step / 10, final=step == 2)
    trainer.end("succeeded")
    return job


def test_a_name_says_base_project_suffix_and_job(rpc_backend: Backend, finished: str) -> None:
    code = finished.removeprefix("ftjob-")[:8]
    assert name_of(rpc_backend, finished) == f"ft:tiny:default:my-sums-2:{code}"
    assert name_of(rpc_backend, finished, 1) == f"ft:tiny:default:my-sums-2:{code}:ckpt-step-1"


def test_a_base_model_an_adapter_and_a_checkpoint_are_resolved(rpc_backend: Backend, finished: str) -> None:
    assert resolve(rpc_backend, "tiny") == ("tiny", None)
    assert resolve(rpc_backend, name_of(rpc_backend, finished)) == ("tiny", 2)
    assert resolve(rpc_backend, name_of(rpc_backend, finished, 1)) == ("tiny", 1)


def test_a_job_that_has_not_finished_has_checkpoints_and_no_adapter(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start()
    trainer.step(1)
    trainer.checkpoint(1)
    assert resolve(rpc_backend, name_of(rpc_backend, job, 1)) == ("tiny", 1)
    with pytest.raises(NotFound):
        resolve(rpc_backend, name_of(rpc_backend, job))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda name: name + ":ckpt-step-9", id="step-not-kept"),
        pytest.param(lambda name: name.replace("my-sums-2", "other"), id="other-suffix"),
        pytest.param(lambda name: name[:-1] + ("0" if name[-1] != "0" else "1"), id="other-job"),
        pytest.param(lambda name: name.replace("tiny", "large"), id="other-base"),
        pytest.param(lambda name: "gpt-4", id="unknown-base"),
        pytest.param(lambda name: name.replace(name[-8:], "%"), id="pattern"),
    ],
)
def test_other_names_are_refused(rpc_backend: Backend, finished: str, change: Callable[[str], str]) -> None:
    with pytest.raises(NotFound) as refused:
        resolve(rpc_backend, change(name_of(rpc_backend, finished)))
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


def test_another_project_finds_a_checkpoint_only_with_permission(rpc_backend: Backend, finished: str) -> None:
    other = f"proj_{finished[-6:]}"
    rpc_backend.sql("INSERT INTO project (id, name, created_at) VALUES (%s, %s, now())", other, other)
    name = name_of(rpc_backend, finished, 1)
    with pytest.raises(NotFound):
        resolve(rpc_backend, name, other)
    rpc_backend.sql(
        "INSERT INTO checkpoint_permission (id, checkpoint_id, project_id, created_at)"
        " SELECT %s, id, %s, now() FROM checkpoint WHERE job_id = %s AND step = 1",
        f"cp_{other}",
        other,
        finished,
    )
    assert resolve(rpc_backend, name, other) == ("tiny", 1)
    # The permission is for the base model below it, too, and for nothing else of the project.
    rpc_backend.sql("UPDATE base_model SET project_id = %s WHERE id = 'tiny'", project(rpc_backend))
    try:
        assert resolve(rpc_backend, name, other) == ("tiny", 1)
        with pytest.raises(NotFound):
            resolve(rpc_backend, "tiny", other)
    finally:
        rpc_backend.sql("UPDATE base_model SET project_id = NULL WHERE id = 'tiny'")
    with pytest.raises(NotFound):
        resolve(rpc_backend, name_of(rpc_backend, finished), other)
