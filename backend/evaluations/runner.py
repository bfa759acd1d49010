"""Runs stand-alone evaluations in batches: sample, score, store."""

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import anyio.to_thread
from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from backend.data.database import Database
from backend.data.ids import new_id
from backend.data.objects import Objects
from backend.datasets import service as datasets
from backend.evaluations import repository, stand_alone
from backend.evaluations.budgets import require_budget
from backend.evaluations.retry import retry_while_offline
from backend.evaluations.stand_alone import EvaluationPrompt, ScoringReward
from backend.models import EvaluationCompletion, EvaluationPromptRow, EvaluationRow, now
from backend.playground import service as playground
from backend.rewards import service as rewards
from backend.rpc.client import Calls
from backend.settings import Settings
from backend.webhooks.events import queue_evaluation_event
from reinforge.dataset.prompt_head import answer_head, prompt_head
from reinforge.errors import InvalidInput, ReinforgeError, StateConflict, Unavailable
from reinforge.schemas.evaluations import SamplingSettings
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.playground import SampleRequest
from reinforge.schemas.resources import RewardTest, RewardTestRow
from reinforge.schemas.rpc.events import DoneEvent

log = logging.getLogger(__name__)

COMPLETIONS_PER_CALL = 64
ROWS_PER_CALL = 16
TOUCH_SECONDS = 10.0
ADOPT_SECONDS = 5.0
SILENT = timedelta(seconds=60)
_LET_GO = datetime(2000, 1, 1, tzinfo=UTC)

Sampled = dict[tuple[int, int], DoneEvent]


class Evaluator:
    def __init__(self, database: Database, calls: Calls, objects: Objects, settings: Settings) -> None:
        self._database, self._calls, self._objects = database, calls, objects
        self._cache = datasets.cache_folder(settings.home_folder)
        self._name = new_id("run_")
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def adopt(self) -> None:
        while True:
            try:
                async with self._database.transaction() as session:
                    row = await repository.abandoned(session, now() - SILENT)
                    if row is not None:
                        row.runner, row.touched_at = self._name, now()
                if row is not None:
                    log.info("the evaluation %s continues on this server", row.id)
                    self._spawn(row.id)
                    continue
            except SQLAlchemyError as error:
                log.warning("no evaluation is resumed, the database does not answer: %s", error)
            await asyncio.sleep(ADOPT_SECONDS)

    async def start(self, id: str) -> None:
        async with self._database.transaction() as session:
            query = update(EvaluationRow).where(EvaluationRow.id == id, EvaluationRow.status == "running")
            await session.execute(query.values(runner=self._name, touched_at=now()))
        self._spawn(id)

    def cancel(self, id: str) -> None:
        if (task := self._tasks.get(id)) is not None:
            task.cancel()

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(SQLAlchemyError):
            async with self._database.transaction() as session:
                own_rows = (EvaluationRow.runner == self._name, EvaluationRow.status == "running")
                await session.execute(update(EvaluationRow).where(*own_rows).values(touched_at=_LET_GO))

    def _spawn(self, id: str) -> None:
        if id in self._tasks:
            return
        task = asyncio.create_task(self._run(id))
        self._tasks[id] = task
        task.add_done_callback(lambda _: self._tasks.pop(id, None))

    async def _run(self, id: str) -> None:
        touching = asyncio.create_task(self._keep_touching(id))
        try:
            await self._evaluate(id)
        except ReinforgeError as error:
            if error.code == "budget_exceeded":
                error.hint = f"{error.hint} POST …/resume then continues after the last completion."
            await self._finish(id, "failed", error=error.envelope()["error"])
        except Exception as error:
            # Nobody awaits this task: without a record it would be adopted and fail again forever.
            log.exception("evaluation %s failed", id)
            fault = {
                "code": "evaluation_failed",
                "message": f"The evaluation failed: {type(error).__name__}: {error}"[:2000],
                "hint": "The server's log has the details. POST …/resume continues after the last completion.",
            }
            await self._finish(id, "failed", error=fault)
        finally:
            touching.cancel()

    async def _evaluate(self, id: str) -> None:
        async with self._database.transaction() as session:
            row = await session.get_one(EvaluationRow, id)
            code = await stand_alone.code_of(session, row)
            dataset = await datasets.get(session, row.project_id, row.params["dataset"])
            sampled_rows = set(
                await session.scalars(
                    select(EvaluationCompletion.row_no)
                    .where(EvaluationCompletion.evaluation_id == id)
                    .distinct()
                )
            )
        settings = SamplingSettings.model_validate(row.params["settings"])
        prompts = await stand_alone.prompts_to_sample(
            self._objects, self._cache, dataset, settings, row.params.get("prompt_view")
        )
        account = rewards.Account(row.project_id, id)
        for batch in batches(
            [prompt for prompt in prompts if prompt.row not in sampled_rows], settings.samples_per_row
        ):
            async with self._database.transaction() as session:
                await require_budget(session, row, code)
            sampled = await retry_while_offline(partial(self._sample, row, settings, batch))
            results = await self._score(account, code, settings, batch, sampled)
            if not await self._store(id, settings.samples_per_row, batch, sampled, results):
                return
        async with self._database.transaction() as session:
            scores = await repository.scores(session, id)
        report = await anyio.to_thread.run_sync(partial(stand_alone.summary, scores, settings.pass_above))
        await self._finish(id, "succeeded", result=report.model_dump(mode="json"))

    async def _sample(
        self, row: EvaluationRow, settings: SamplingSettings, batch: Sequence[EvaluationPrompt]
    ) -> Sampled:
        body = SampleRequest(
            model=row.params["model"],
            checkpoint=row.params["checkpoint"],
            prompts=[list(prompt.messages) for prompt in batch],
            seed=seed_of(settings.seed, batch[0].row),
            samples_per_prompt=settings.samples_per_row,
            **settings.model_dump(include={"max_tokens", "temperature", "top_p", "stop"}),
        )
        async with self._database.transaction() as session:
            request = await playground.sampling(session, row.project_id, body)
        if request.model_sha256 != row.params["model_sha256"]:
            raise StateConflict(
                f"The files of {row.params['model']} have changed since the evaluation began.",
                code="model_changed",
                hint="Start a new evaluation.",
            )
        if any(prompt.tools for prompt in batch):
            request.row_tools = [prompt.tools for prompt in batch]
        stream = await playground.start(self._calls.of_project(row.project_id), request)
        sampled: Sampled = {}
        counted = playground.counted(self._database, stream, row.project_id, row.id)
        async with aclosing(counted) as events:
            async for event in events:
                if isinstance(event, DoneEvent):
                    sampled[event.prompt, event.sample] = event
        if len(sampled) != len(batch) * settings.samples_per_row:
            raise Unavailable(
                f"The worker sent {len(sampled)} completions, expected {len(batch) * settings.samples_per_row}.",
                code="sampling_incomplete",
            )
        return sampled

    async def _score(
        self,
        account: rewards.Account,
        code: ScoringReward,
        settings: SamplingSettings,
        batch: Sequence[EvaluationPrompt],
        sampled: Sampled,
    ) -> dict[tuple[int, int], RewardResult]:
        places = sorted(sampled)
        calls = [places]
        if code.granularity == "group":
            calls = [[place for place in places if place[0] == prompt_no] for prompt_no in range(len(batch))]
        results: dict[tuple[int, int], RewardResult] = {}
        for group in calls:
            rows = [
                RewardTestRow(
                    completion=sampled[place].text,
                    item=batch[place[0]].item,
                    prompt=list(batch[place[0]].messages),
                )
                for place in group
            ]
            body = RewardTest(rows=rows, timeout_seconds=settings.timeout_seconds)
            ask = partial(
                rewards.test,
                self._calls.of_project(account.project_id),
                code.source,
                code.entry,
                code.granularity,
                code.name,
                body,
                account,
            )
            answer = await retry_while_offline(ask)
            if answer.load_error is not None:
                raise InvalidInput(f"The reward does not load: {answer.load_error}", code="invalid_reward")
            results |= dict(zip(group, answer.results, strict=True))
        return results

    async def _store(
        self,
        id: str,
        samples: int,
        batch: Sequence[EvaluationPrompt],
        sampled: Sampled,
        results: dict[tuple[int, int], RewardResult],
    ) -> bool:
        values = [
            {
                "evaluation_id": id,
                "row_no": batch[place[0]].row,
                "sample_no": place[1],
                "text": sampled[place].text.replace("\0", "\ufffd"),
                "tokens": sampled[place].tokens or 0,
                "finish_reason": sampled[place].finish_reason,
                "result": result.model_dump(mode="json", exclude_defaults=True) | {"value": result.value},
            }
            for place, result in results.items()
        ]
        async with self._database.transaction() as session:
            row = await self._owns(session, id)
            if row is None:
                return False
            await session.execute(insert(EvaluationCompletion).values(values).on_conflict_do_nothing())
            heads = [
                {
                    "evaluation_id": id,
                    "row_no": prompt.row,
                    "prompt": prompt_head(prompt.messages),
                    "answer": answer_head(prompt.item),
                }
                for prompt in batch
            ]
            await session.execute(insert(EvaluationPromptRow).values(heads).on_conflict_do_nothing())
            row.done, row.touched_at = row.done + len(batch) * samples, now()
        return True

    async def _owns(self, session: Any, id: str) -> EvaluationRow | None:
        row: EvaluationRow | None = await session.get(EvaluationRow, id, with_for_update=True)
        active = row is not None and row.status == "running" and row.runner == self._name
        return row if active else None

    async def _keep_touching(self, id: str) -> None:
        while True:
            await asyncio.sleep(TOUCH_SECONDS)
            with suppress(SQLAlchemyError):
                async with self._database.transaction() as session:
                    own_row = (EvaluationRow.id == id, EvaluationRow.runner == self._name)
                    await session.execute(update(EvaluationRow).where(*own_row).values(touched_at=now()))

    async def _finish(self, id: str, status: str, **values: Any) -> None:
        async with self._database.transaction() as session:
            row = await self._owns(session, id)
            if row is not None:
                row.status, row.finished_at, row.touched_at = status, now(), now()
                row.result, row.error = values.get("result"), values.get("error")
                await queue_evaluation_event(session, row)


def batches(rows: Sequence[EvaluationPrompt], samples: int) -> Iterator[list[EvaluationPrompt]]:
    batch: list[EvaluationPrompt] = []
    characters = 0
    for prompt in rows:
        size = sum(len(str(part)) for part in (*prompt.messages, *(prompt.tools or ())))
        full = len(batch) == ROWS_PER_CALL or (len(batch) + 1) * samples > COMPLETIONS_PER_CALL
        if batch and (full or characters + size > playground.MOST_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(prompt)
        characters += size
    if batch:
        yield batch


def seed_of(seed: int, row: int) -> int:
    """Seed of the batch that starts at `row`; one seed for all would repeat the sampling noise."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{row}".encode()).digest()[:4], "big") >> 1
