"""Queries about evaluations and labels."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Double, case, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import (
    Completion,
    EvaluationCompletion,
    EvaluationPromptRow,
    EvaluationRow,
    Label,
    StepRollouts,
    now,
)
from reinforge.schemas.evaluations import LabelCreate

HEAD = 300


async def find(
    session: AsyncSession, project_id: str, id: str, *, lock: bool = False
) -> EvaluationRow | None:
    query = select(EvaluationRow).where(EvaluationRow.id == id, EvaluationRow.project_id == project_id)
    evaluation: EvaluationRow | None = await session.scalar(query.with_for_update() if lock else query)
    return evaluation


async def page(
    session: AsyncSession,
    project_id: str,
    filters: Mapping[str, str | None],
    *,
    limit: int,
    after: str | None,
) -> tuple[list[EvaluationRow], bool]:
    query = select(EvaluationRow).where(EvaluationRow.project_id == project_id)
    query = query.filter_by(**{column: value for column, value in filters.items() if value is not None})
    query = newest_first(query, EvaluationRow.created_at, EvaluationRow.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def completions(
    session: AsyncSession, evaluation_id: str, *, row: int | None, limit: int, offset: int
) -> Sequence[EvaluationCompletion]:
    query = select(EvaluationCompletion).where(EvaluationCompletion.evaluation_id == evaluation_id)
    if row is not None:
        query = query.where(EvaluationCompletion.row_no == row)
    query = query.order_by(EvaluationCompletion.row_no, EvaluationCompletion.sample_no)
    return (await session.scalars(query.limit(limit).offset(offset))).all()


async def scores(
    session: AsyncSession, evaluation_id: str
) -> list[tuple[int, float | None, int, str | None]]:
    """(row, reward, tokens, finish reason) per completion, by row and sample; reward None on failure."""
    completion = EvaluationCompletion
    value = case((completion.result["status"].astext == "ok", completion.result["value"].astext.cast(Double)))
    query = select(completion.row_no, value, completion.tokens, completion.finish_reason)
    query = query.where(completion.evaluation_id == evaluation_id).order_by(
        completion.row_no, completion.sample_no
    )
    return [(row, reward, tokens, reason) for row, reward, tokens, reason in await session.execute(query)]


async def prompts(session: AsyncSession, evaluation_id: str) -> dict[int, tuple[str, str | None]]:
    """First `HEAD` characters of prompt and answer, by dataset row."""
    row = EvaluationPromptRow
    query = select(row.row_no, func.left(row.prompt, HEAD), func.left(row.answer, HEAD))
    rows = await session.execute(query.where(row.evaluation_id == evaluation_id))
    return {row_no: (prompt, answer) for row_no, prompt, answer in rows}


async def abandoned(session: AsyncSession, before: datetime) -> EvaluationRow | None:
    query = select(EvaluationRow).where(
        EvaluationRow.kind == "stand_alone",
        EvaluationRow.status == "running",
        EvaluationRow.touched_at < before,
    )
    query = query.order_by(EvaluationRow.touched_at).limit(1).with_for_update(skip_locked=True)
    evaluation: EvaluationRow | None = await session.scalar(query)
    return evaluation


async def tables(session: AsyncSession, job_id: str) -> list[tuple[int, str, int]]:
    """(step, SHA-256 of the Parquet object, number of completions) of the training steps."""
    query = select(StepRollouts.step, StepRollouts.sha256, StepRollouts.count)
    query = query.where(StepRollouts.job_id == job_id, StepRollouts.split == "train")
    rows = await session.execute(query.order_by(StepRollouts.step))
    return [(step, sha256, count) for step, sha256, count in rows]


async def table_of(session: AsyncSession, job_id: str, split: str, step: int) -> str | None:
    query = select(StepRollouts.sha256).where(
        StepRollouts.job_id == job_id, StepRollouts.split == split, StepRollouts.step == step
    )
    sha256: str | None = await session.scalar(query)
    return sha256


async def labels(session: AsyncSession, job_id: str) -> Sequence[Label]:
    query = select(Label).where(Label.job_id == job_id)
    order = (Label.split, Label.step, Label.prompt_no, Label.sample_no)
    return (await session.scalars(query.order_by(*order))).all()


async def existing_completions(
    session: AsyncSession, job_id: str, labels: Sequence[LabelCreate]
) -> set[tuple[str, int, int, int]]:
    steps = {label.step for label in labels}
    query = select(Completion.split, Completion.step, Completion.prompt_no, Completion.sample_no)
    rows = await session.execute(query.where(Completion.job_id == job_id, Completion.step.in_(steps)))
    places = {(label.split, label.step, label.prompt_no, label.sample_no) for label in labels}
    return {(split, step, prompt, sample) for split, step, prompt, sample in rows} & places


async def put_label(session: AsyncSession, job_id: str, label: LabelCreate, by: str) -> None:
    where = label.model_dump(exclude={"right"}) | {"job_id": job_id}
    if label.right is None:
        await session.execute(delete(Label).filter_by(**where))
        return
    values = {"right": label.right, "created_by": by, "created_at": now()}
    query = insert(Label).values(**where, **values)
    await session.execute(query.on_conflict_do_update(index_elements=list(where), set_=values))


async def unlabelled(session: AsyncSession, job_id: str) -> list[tuple[int, int, int, float]]:
    """(step, prompt_no, sample_no, reward) of unlabelled training completions."""
    places = (Completion.step, Completion.prompt_no, Completion.sample_no)
    query = (
        select(*places, Completion.reward)
        .outerjoin(
            Label,
            (Label.job_id == Completion.job_id)
            & (Label.split == Completion.split)
            & (Label.step == Completion.step)
            & (Label.prompt_no == Completion.prompt_no)
            & (Label.sample_no == Completion.sample_no),
        )
        .where(Completion.job_id == job_id, Completion.split == "train", Completion.reward.is_not(None))
        .where(Label.job_id.is_(None))
        .order_by(*places)
    )
    rows = await session.execute(query)
    return [(step, prompt, sample, reward) for step, prompt, sample, reward in rows if reward is not None]
