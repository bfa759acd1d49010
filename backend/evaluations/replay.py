"""Replays: rescoring of stored completions with another reward revision."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio.to_thread
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.evaluations import repository
from backend.evaluations.retry import retry_while_busy
from backend.evaluations.stored import Stored, every, read_groups
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.jobs.submission.pinned_rewards import pinned_reward
from backend.models import EvaluationRow, Job, now
from backend.rewards import service as rewards
from backend.rpc.client import Calls
from reinforge.dataset import ColumnRoles
from reinforge.environment_spec import SINGLE_TURN
from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.evaluation.calibration import paid
from reinforge.evaluation.replay import Rescored, compare
from reinforge.schemas.evaluations import ReplayCreate
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.resources import RewardTest, RewardTestRow

log = logging.getLogger(__name__)

ROWS_PER_CALL = 256
ROOM_SECONDS = 120.0


def refuse_turns(job: Job, what: str, param: str) -> None:
    """Raise InvalidInput `environment_not_supported` if the job's environment has several turns."""
    if job.resolved_spec["environment"]["type"] != SINGLE_TURN:
        raise InvalidInput(
            f"{what} supports only one turn per completion, but {job.id} has an environment with several.",
            code="environment_not_supported",
            param=param,
            hint="Held-out evaluations of the job itself run its environment: see docs/agents.md.",
        )


@dataclass(frozen=True, slots=True)
class ReplacementReward:
    project_id: str
    reward: str
    source: str
    entry: str | None
    granularity: str
    timeout_seconds: float
    stored: str | None
    revision: int | None
    roles: ColumnRoles


async def look_up(session: AsyncSession, job: Job, body: ReplayCreate) -> ReplacementReward:
    refuse_turns(job, "A replay", "job")
    pinned = await pinned_reward(session, job.id, body.reward)
    name = pinned.name
    reward_spec = next(candidate for candidate in job.resolved_spec["rewards"] if candidate["name"] == name)
    usual = {
        "granularity": reward_spec.get("granularity", "sample"),
        "timeout_seconds": reward_spec.get("timeout_seconds", 2.0),
        "roles": ColumnRoles.model_validate(job.resolved_spec["data"]["columns"]),
    }
    if body.source is not None:
        return ReplacementReward(
            job.project_id, name, body.source, body.entry, **usual, stored=None, revision=None
        )
    stored = body.stored or pinned.reward_id
    if stored is None:
        raise InvalidInput(
            f"The job's reward {name!r} is inline code, so it has no other revision.",
            code="no_revision",
            param="stored",
            hint="Give `source`, or name a stored reward as `stored`.",
        )
    stored_reward, revision = await rewards.get_revision(session, job.project_id, stored, body.revision)
    entry = body.entry or revision.entry
    return ReplacementReward(
        job.project_id,
        name,
        revision.source,
        entry,
        **usual,
        stored=stored_reward.id,
        revision=revision.revision,
    )


class Replayer:
    def __init__(self, database: Database, calls: Calls, cache: ObjectCache) -> None:
        self._database, self._calls, self._cache = database, calls, cache
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, id: str, job_id: str, code: ReplacementReward, most: int, pass_above: float) -> None:
        task = asyncio.create_task(self._run(id, job_id, code, most, pass_above))
        self._tasks[id] = task
        task.add_done_callback(lambda _: self._tasks.pop(id, None))

    def cancel(self, id: str) -> None:
        if (task := self._tasks.get(id)) is not None:
            task.cancel()

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, id: str, job_id: str, code: ReplacementReward, most: int, pass_above: float) -> None:
        try:
            rows: list[Rescored] = []
            account = rewards.Account(code.project_id, id)
            async for part in self._rescored(job_id, code, most, account):
                rows += part
                if not await self._touch(id, len(rows)):
                    return
            report = await anyio.to_thread.run_sync(partial(compare, rows, pass_above=pass_above))
            await self._finish(id, "succeeded", result=report.model_dump(mode="json"))
        except ReinforgeError as error:
            await self._finish(id, "failed", error=error.envelope()["error"])
        except Exception as error:
            # Nobody awaits this task: without a record the row would look interrupted.
            log.exception("replay %s failed", id)
            fault = {
                "code": "replay_failed",
                "message": f"The replay failed: {type(error).__name__}: {error}"[:2000],
                "hint": "The server's log has the details. Start it again.",
            }
            await self._finish(id, "failed", error=fault)

    async def _rescored(
        self, job_id: str, code: ReplacementReward, most: int, account: rewards.Account
    ) -> AsyncIterator[list[Rescored]]:
        async with self._database.transaction() as session:
            tables = await repository.tables(session, job_id)
        stride = every(tables, most)
        for number, (step, sha256, _) in enumerate(tables):
            async with self._cache.file(sha256) as path:
                groups = await anyio.to_thread.run_sync(
                    read_groups, str(path), step, stride, number, code.roles
                )
            for batch in _calls(groups, rewards.granularity_of(code.source, code.granularity)):
                yield await self._score(code, batch, account)

    async def _score(
        self, code: ReplacementReward, batch: Sequence[Stored], account: rewards.Account
    ) -> list[Rescored]:
        rows = [RewardTestRow.model_validate(completion.row()) for completion in batch]
        body = RewardTest(rows=rows, timeout_seconds=code.timeout_seconds)
        ask = partial(
            rewards.test,
            self._calls.of_project(account.project_id),
            code.source,
            code.entry,
            code.granularity,
            code.reward,
            body,
            account,
        )
        answer = await retry_while_busy(ask, within=ROOM_SECONDS)
        if answer.load_error is not None:
            raise InvalidInput(f"The reward does not load: {answer.load_error}", code="invalid_reward")
        return [
            _rescored(completion, code.reward, new)
            for completion, new in zip(batch, answer.results, strict=True)
        ]

    async def _touch(self, id: str, completed: int) -> bool:
        async with self._database.transaction() as session:
            row = await session.get(EvaluationRow, id, with_for_update=True)
            if row is None or row.status != "running":
                return False
            row.done, row.touched_at = completed, now()
        return True

    async def _finish(self, id: str, status: str, **values: Any) -> None:
        async with self._database.transaction() as session:
            row = await session.get(EvaluationRow, id, with_for_update=True)
            if row is None or row.status != "running":
                return
            row.status, row.finished_at, row.touched_at = status, now(), now()
            row.total = row.done if status == "succeeded" else row.total
            row.result, row.error = values.get("result"), values.get("error")


def _calls(groups: Sequence[Sequence[Stored]], granularity: str) -> list[list[Stored]]:
    if granularity == "group":
        return [list(group) for group in groups]
    flat = [completion for group in groups for completion in group]
    return [flat[start : start + ROWS_PER_CALL] for start in range(0, len(flat), ROWS_PER_CALL)]


def _rescored(stored: Stored, name: str, new: RewardResult) -> Rescored:
    old = stored.results.get(name) or {}
    value = old.get("value") if old.get("status") == "ok" else None
    return Rescored(
        step=stored.step,
        prompt_no=stored.prompt_no,
        sample_no=stored.sample_no,
        old=value,
        new=new.value if new.status == "ok" else None,
        status=new.status,
        text=stored.text,
        wall_ms=new.wall_ms,
        cost=paid(new.usage),
    )
