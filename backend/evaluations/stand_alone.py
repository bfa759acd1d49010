"""Stand-alone evaluations: validation, row selection, results."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.adapters import service as adapters
from backend.base_models import service as base_models
from backend.data.ids import new_id
from backend.data.objects import Objects
from backend.datasets import service as datasets
from backend.datasets.prompts import rendering
from backend.datasets.reading import read_in_background
from backend.evaluations import repository
from backend.evaluations.replay import refuse_turns
from backend.models import BaseModel, Checkpoint, Dataset, EvaluationRow, Job, now
from backend.playground import service as playground
from backend.rewards import service as rewards
from reinforge.dataset import Format, Message, Tool, iter_prompts
from reinforge.errors import InvalidInput, NotFound, StateConflict, TooLarge
from reinforge.evaluation.summary import EvaluationSummary, RowScores, summarise
from reinforge.schemas.datasets import PromptView
from reinforge.schemas.evaluations import (
    EvaluatedCompletion,
    EvaluatedRow,
    SamplingSettings,
    StandAloneCreate,
)

MOST_CHARACTERS = 50_000_000


@dataclass(frozen=True, slots=True)
class EvaluationPrompt:
    row: int
    item: dict[str, Any]
    messages: list[Message]
    tools: list[Tool] | None = None


@dataclass(frozen=True, slots=True)
class ScoringReward:
    name: str
    source: str
    entry: str | None
    granularity: str


async def create(
    session: AsyncSession,
    objects: Objects,
    cache: Path,
    project_id: str,
    body: StandAloneCreate,
    created_by: str,
) -> EvaluationRow:
    model, checkpoint, adapter = await _policy(session, project_id, body)
    if checkpoint is not None and (stored := await session.get(Checkpoint, checkpoint)) is not None:
        trained_by = await session.get_one(Job, stored.job_id)
        refuse_turns(trained_by, "A stand-alone evaluation", "checkpoint" if adapter is None else "adapter")
    dataset = await _resolve_field(datasets.get(session, project_id, body.dataset), "dataset")
    view = body.prompt_view or PromptView.model_validate(dataset.prompt_view)
    _check_view(dataset, view)
    reward = await _reward(session, project_id, body)
    settings = SamplingSettings.model_validate(body.model_dump(include=set(SamplingSettings.model_fields)))
    row = EvaluationRow(
        id=new_id("eval_"),
        project_id=project_id,
        kind="stand_alone",
        name=body.name,
        params={
            "model": model.id,
            "model_sha256": model.sha256,
            "adapter": adapter,
            "checkpoint": checkpoint,
            "dataset": dataset.id,
            "dataset_sha256": dataset.sha256,
            "prompt_view": view.model_dump(exclude_defaults=True),
            "granularity": body.granularity,
            "settings": settings.model_dump(),
            **reward,
        },
        status="running",
        done=0,
        total=len(await chosen_rows(objects, cache, dataset, settings, view)) * settings.samples_per_row,
        created_by=created_by,
        touched_at=now(),
    )
    session.add(row)
    await session.flush()
    return row


def _check_view(dataset: Dataset, view: PromptView) -> None:
    try:
        rendering.check_view(dataset, view)
    except InvalidInput as error:
        error.param = f"prompt_view.{error.param}"
        error.hint = (
            f"{(error.hint or '').replace('data.', 'prompt_view.')} On the command line: --column prompt=COLUMN "
            "or --prompt-template TEXT."
        )
        raise


async def _policy(
    session: AsyncSession, project_id: str, body: StandAloneCreate
) -> tuple[BaseModel, str | None, str | None]:
    """Base model, and ids of its checkpoint and adapter."""
    if body.adapter is not None:
        adapter = await _resolve_field(adapters.get(session, project_id, body.adapter), "adapter")
        if adapter.checkpoint_id is None:
            raise InvalidInput(
                "An uploaded adapter cannot be evaluated without a job.",
                code="adapter_not_evaluable",
                param="adapter",
                hint="Start a job from the adapter: the job's first evaluation measures it.",
            )
        return base_models.usable(await base_models.of(session, adapter)), adapter.checkpoint_id, adapter.id
    if body.checkpoint is not None:
        model = await playground.checkpoint_model(session, project_id, body.checkpoint)
        return base_models.usable(model), body.checkpoint, None
    return await base_models.get_usable(session, project_id, body.model or ""), None, None


async def _reward(session: AsyncSession, project_id: str, body: StandAloneCreate) -> dict[str, Any]:
    """Parameters that identify the reward, with its SHA-256: an evaluation gate compares only results of the
    same reward.
    """
    if body.reward is None:
        source = body.source or ""
        sha256 = hashlib.sha256(source.encode()).hexdigest()
        return {"reward": "reward", "source": source, "entry": body.entry, "reward_sha256": sha256}
    lookup = rewards.get_revision(session, project_id, body.reward, body.revision)
    stored_reward, revision = await _resolve_field(lookup, "reward")
    return {
        "reward": stored_reward.name,
        "stored": stored_reward.id,
        "revision": revision.revision,
        "entry": body.entry,
        "reward_sha256": revision.sha256,
    }


async def _resolve_field(lookup: Any, param: str) -> Any:
    try:
        return await lookup
    except NotFound as error:
        raise InvalidInput(error.message, code=error.code, hint=error.hint, param=param) from error


def resume(row: EvaluationRow) -> None:
    if row.kind != "stand_alone" or row.status not in ("failed", "cancelled"):
        raise StateConflict(
            f"The evaluation is {row.status}; only a stand-alone one that failed or was cancelled can be resumed.",
            code="evaluation_not_resumable",
            hint="Start a new one." if row.status != "running" else "It goes on by itself.",
        )
    row.status, row.error, row.finished_at, row.touched_at, row.runner = "running", None, None, now(), None


async def code_of(session: AsyncSession, row: EvaluationRow) -> ScoringReward:
    params = row.params
    if params.get("stored") is None:
        return ScoringReward(
            "reward",
            params["source"],
            params["entry"],
            rewards.granularity_of(params["source"], params["granularity"]),
        )
    stored_reward, revision = await rewards.get_revision(
        session, row.project_id, params["stored"], params["revision"]
    )
    granularity = rewards.granularity_of(revision.source, stored_reward.granularity)
    return ScoringReward(stored_reward.name, revision.source, params["entry"] or revision.entry, granularity)


async def chosen_rows(
    objects: Objects, cache: Path, dataset: Dataset, settings: SamplingSettings, view: PromptView
) -> list[int]:
    pool: Sequence[int] = range(dataset.rows)
    if settings.split != "all":
        how = (settings.held_out_rows, settings.seed, settings.split_by)
        train, held_out = await rendering.divided(objects, cache, dataset, *how, view)
        pool = train if settings.split == "train" else held_out
    if not pool:
        raise InvalidInput(
            "All rows of the dataset are held out."
            if settings.split == "train"
            else "No row of the dataset is held out.",
            code="nothing_held_out",
            param="split",
            hint="Take split `all`, or another held_out_rows.",
        )
    count = min(settings.rows, len(pool))
    return [pool[place * len(pool) // count] for place in range(count)]


def read_rows(
    path: str, format: Format, view: str, indexes: list[int], numbers: Sequence[str] = ()
) -> list[EvaluationPrompt]:
    how = PromptView.model_validate_json(view)
    remaining, prompts, characters = iter(indexes), [], 0
    following = next(remaining, None)
    rows = iter_prompts(
        Path(path),
        format,
        roles=how.columns,
        template=how.prompt_template,
        system_prompt=how.system_prompt,
        numbers=numbers,
    )
    for row in rows:
        if row.index == following:
            characters += len(str(row.item))
            if characters > MOST_CHARACTERS:
                raise TooLarge(
                    f"The chosen rows have more than {MOST_CHARACTERS:,} characters together.",
                    code="evaluation_too_large",
                    param="rows",
                    hint="Request fewer rows.",
                )
            prompts.append(EvaluationPrompt(row.index, row.item, row.messages, row.tools))
            following = next(remaining, None)
        if following is None:
            break
    return prompts


async def prompts_to_sample(
    objects: Objects, cache: Path, dataset: Dataset, settings: SamplingSettings, stored: dict[str, Any] | None
) -> list[EvaluationPrompt]:
    view = PromptView.model_validate(dataset.prompt_view if stored is None else stored)
    rows = await chosen_rows(objects, cache, dataset, settings, view)
    path = await datasets.local_file(objects, dataset, cache)
    return await read_in_background(
        dataset,
        read_rows,
        str(path),
        dataset.format,
        view.model_dump_json(),
        rows,
        datasets.numbers(dataset),
    )


async def evaluated_rows(session: AsyncSession, evaluation_id: str) -> list[EvaluatedRow]:
    heads = await repository.prompts(session, evaluation_id)
    rows = []
    for scores in _by_row(await repository.scores(session, evaluation_id)):
        prompt, answer = heads.get(scores.row, (None, None))
        rows.append(EvaluatedRow(row=scores.row, rewards=scores.rewards, prompt=prompt, answer=answer))
    return rows


def _by_row(scores: Iterable[tuple[int, float | None, int, str | None]]) -> list[RowScores]:
    return [
        RowScores(row=row, rewards=[score[1] for score in group])
        for row, group in groupby(scores, key=lambda score: score[0])
    ]


def summary(
    scores: Sequence[tuple[int, float | None, int, str | None]], pass_above: float
) -> EvaluationSummary:
    return summarise(
        _by_row(scores),
        pass_above=pass_above,
        truncated=sum(reason == "length" for *_, reason in scores),
        tokens=sum(tokens for _, _, tokens, _ in scores),
    )


async def completions(
    session: AsyncSession, evaluation_id: str, *, row: int | None, limit: int, offset: int
) -> list[EvaluatedCompletion]:
    rows = await repository.completions(session, evaluation_id, row=row, limit=limit, offset=offset)
    return [
        EvaluatedCompletion(
            row=completion.row_no,
            sample=completion.sample_no,
            text=completion.text,
            tokens=completion.tokens,
            finish_reason=completion.finish_reason,
            result=completion.result,
        )
        for completion in rows
    ]
