"""Ability probes: stand-alone evaluations of a job's checkpoint and of its base model on the same rows."""

import json
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Dataset, EvaluationCompletion, EvaluationRow, Job
from reinforge.report_card.build import AbilitySamples
from reinforge.report_card.samples import CardSample

MOST = 5
_EVALUATIONS = 200
_SAME = ("dataset_sha256", "settings", "reward_sha256", "entry", "granularity", "prompt_view", "model_sha256")
_TEXT = 200


async def read(session: AsyncSession, job: Job, checkpoint_id: str | None) -> list[AbilitySamples]:
    if checkpoint_id is None:
        return []
    adapters = _newest(await _evaluations(session, job, checkpoint_id))
    bases = _newest(await _evaluations(session, job, None)) if adapters else {}
    pairs = [(adapter, bases[key]) for key, adapter in adapters.items() if key in bases][:MOST]
    names = await _names(session, [row.params["dataset"] for row, _ in pairs])
    return [
        AbilitySamples(
            dataset=adapter.params["dataset"],
            name=names.get(adapter.params["dataset"], adapter.params["dataset"]),
            reward=adapter.params["reward"],
            base_evaluation=base.id,
            adapter_evaluation=adapter.id,
            base=await _samples(session, base.id),
            adapter=await _samples(session, adapter.id),
            pass_above=adapter.params["settings"]["pass_above"],
        )
        for adapter, base in pairs
    ]


async def _evaluations(session: AsyncSession, job: Job, checkpoint_id: str | None) -> Sequence[EvaluationRow]:
    checkpoint = EvaluationRow.params["checkpoint"].astext
    query = select(EvaluationRow).where(
        EvaluationRow.project_id == job.project_id,
        EvaluationRow.kind == "stand_alone",
        EvaluationRow.status == "succeeded",
        EvaluationRow.params["model"].astext == job.model_id,
        checkpoint.is_(None) if checkpoint_id is None else checkpoint == checkpoint_id,
    )
    query = query.order_by(EvaluationRow.created_at.desc(), EvaluationRow.id)
    return (await session.scalars(query.limit(_EVALUATIONS))).all()


def _newest(rows: Sequence[EvaluationRow]) -> dict[str, EvaluationRow]:
    newest: dict[str, EvaluationRow] = {}
    for row in rows:
        newest.setdefault(json.dumps([row.params.get(name) for name in _SAME], sort_keys=True), row)
    return newest


async def _names(session: AsyncSession, ids: Sequence[str]) -> dict[str, str]:
    query = select(Dataset.id, Dataset.name).where(Dataset.id.in_(ids))
    return {row[0]: row[1] for row in await session.execute(query)}


async def _samples(session: AsyncSession, evaluation_id: str) -> list[CardSample]:
    completion = EvaluationCompletion
    text = func.left(completion.text, _TEXT)
    query = (
        select(
            completion.row_no,
            completion.sample_no,
            completion.tokens,
            completion.finish_reason,
            completion.result,
            text,
        )
        .where(completion.evaluation_id == evaluation_id)
        .order_by(completion.row_no, completion.sample_no)
    )
    samples = []
    for row, number, tokens, finish_reason, result, head in await session.execute(query):
        ok = result.get("status") == "ok"
        samples.append(
            CardSample(
                row=row,
                prompt_hash="",
                sample=number,
                reward=result.get("value") if ok else None,
                tokens=tokens,
                finish_reason=finish_reason or "",
                text=head,
            )
        )
    return samples
