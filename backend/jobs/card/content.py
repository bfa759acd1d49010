"""Inputs of a report card, from the database and the steps' Parquet objects."""

import hashlib
from collections.abc import Sequence

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs import repository
from backend.jobs.card import abilities
from backend.jobs.card.samples import MOST_SAMPLES, SampleColumns, StepSamples, evaluation_steps, read
from backend.jobs.comparison import repository as comparison
from backend.jobs.comparison.measured import cost, job_seconds
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.models import Adapter, Dataset, FindingRow, Job, JobReward
from reinforge.diagnosis.verdict import Verdict
from reinforge.errors import NotFound
from reinforge.report_card.build import CardInputs, CardPolicySamples
from reinforge.schemas.report_card import CardCost, CardFinding, CardSubject

MOST_ANCESTORS = 20
_SEVERE = ("error", "warning")


async def inputs_of(
    session: AsyncSession,
    cache: ObjectCache,
    job: Job,
    *,
    step: int | None,
    slice_column: str | None,
    gpu_hour_price: float | None,
) -> CardInputs:
    start = job.forked_step or 0
    steps = await evaluation_steps(session, job.id)
    adapter_step = _adapter_step(job, steps, step)
    roles = job.resolved_spec["data"]["columns"]
    columns = SampleColumns(roles, slice_column or roles.get("slice"))
    adapter = before = None
    notes: list[str] = []
    if adapter_step is not None:
        adapter = _policy(job, adapter_step, await read(session, cache, job.id, adapter_step, columns), notes)
    if adapter is not None and start in steps:
        before = _policy(job, start, await read(session, cache, job.id, start, columns), notes)
    base, parent = before, None
    if before is not None and (job.start or job.forked_from_id):
        parent = before
        base = await _base_of_ancestors(session, cache, job, columns, notes)
    weights_step = job.step if adapter_step is None else adapter_step
    checkpoint = await repository.find_checkpoint(session, job.id, weights_step)
    usage = (await comparison.usage(session, job.project_id, [job.id])).get(job.id, {})
    return CardInputs(
        subject=await _subject(session, job, adapter_step, None if checkpoint is None else checkpoint.sha256),
        cost=CardCost(
            seconds=job_seconds(job),
            worker_seconds=usage.get("device_seconds", 0.0),
            sampled_tokens=usage.get("sampled_tokens", 0.0),
            trained_tokens=usage.get("trained_tokens", 0.0),
            cost=cost(usage, gpu_hour_price),
        ),
        pass_above=float(job.resolved_spec["evaluation"].get("pass_above", 0.5)),
        adapter=adapter,
        base=_named(base, job.model_id),
        parent=_named(parent, _parent_name(job)),
        slice_column=columns.slice,
        verdict=_verdict(job) if adapter_step is None or adapter_step == steps[-1] else None,
        weights={reward["name"]: float(reward["weight"]) for reward in job.resolved_spec["rewards"]},
        findings=await _findings(session, job.id),
        abilities=await abilities.read(session, job, None if checkpoint is None else checkpoint.id),
        notes=notes,
    )


def _verdict(job: Job) -> Verdict | None:
    return Verdict.model_validate(job.verdict) if job.verdict else None


def _adapter_step(job: Job, steps: Sequence[int], step: int | None) -> int | None:
    trained = [one for one in steps if one > (job.forked_step or 0)]
    if step is None:
        return trained[-1] if trained else None
    if step in trained:
        return step
    raise NotFound(
        f"The job has no evaluation of trained weights at step {step}.",
        code="evaluation_not_found",
        param="step",
        hint=f"Use one of the steps {', '.join(map(str, trained[-20:]))}."
        if trained
        else "Wait for an evaluation.",
    )


def _policy(job: Job, step: int, rows: StepSamples, notes: list[str]) -> CardPolicySamples:
    if rows.cut:
        notes.append(f"Only the first {MOST_SAMPLES:,} held-out completions of step {step} are counted.")
    if not rows.readable:
        notes.append(
            f"The details of step {step} cannot be read: parts, slices, answers and entropy are left out."
        )
    return CardPolicySamples(name=f"{job.name}, step {step}", step=step, samples=rows.samples, job=job.id)


def _named(policy: CardPolicySamples | None, name: str) -> CardPolicySamples | None:
    return None if policy is None else CardPolicySamples(name, policy.step, policy.samples, policy.job)


def _parent_name(job: Job) -> str:
    return str(job.start["name"]) if job.start else f"{job.forked_from_id}, step {job.forked_step}"


async def _base_of_ancestors(
    session: AsyncSession, cache: ObjectCache, job: Job, columns: SampleColumns, notes: list[str]
) -> CardPolicySamples | None:
    """The base model's evaluation in the job's oldest ancestor; None if that has none, or other rows or
    rewards.
    """
    ancestor = job
    for _ in range(MOST_ANCESTORS):
        parent_id = (ancestor.start or {}).get("job") or ancestor.forked_from_id
        if parent_id is None:
            break
        parent = await session.get(Job, parent_id)
        if parent is None or parent.project_id != job.project_id:
            return None
        ancestor = parent
    if ancestor is job or ancestor.start or ancestor.forked_from_id:
        return None
    ids = [job.id, ancestor.id]
    hashes = await comparison.reward_hashes(session, ids)
    datasets = await comparison.held_out_datasets(session, ids)
    same = hashes[job.id] == hashes[ancestor.id] and datasets[job.id] == datasets[ancestor.id]
    if not same or 0 not in await evaluation_steps(session, ancestor.id):
        return None
    return _policy(ancestor, 0, await read(session, cache, ancestor.id, 0, columns), notes)


async def _subject(session: AsyncSession, job: Job, step: int | None, sha256: str | None) -> CardSubject:
    dataset = await session.get_one(Dataset, job.dataset_id)
    held_out = (
        await session.get_one(Dataset, job.held_out_dataset_id)
        if job.held_out_dataset_id is not None
        else None
    )
    adapter = await session.get(Adapter, job.adapter_id) if job.adapter_id is not None else None
    pinned = await session.scalars(
        select(JobReward).where(JobReward.job_id == job.id).order_by(JobReward.position)
    )
    weights = {reward["name"]: reward["weight"] for reward in job.resolved_spec["rewards"]}
    own = adapter is not None and adapter.step == step and adapter.deleted_at is None
    return CardSubject(
        job=job.id,
        name=job.name,
        status=job.status,
        step=step if step is not None else job.step,
        adapter=job.adapter_id if own else None,
        adapter_sha256=sha256,
        model=job.model_id,
        model_sha256=job.model_sha256,
        dataset=dataset.id,
        dataset_sha256=dataset.sha256,
        held_out_dataset=None if held_out is None else held_out.id,
        held_out_dataset_sha256=None if held_out is None else held_out.sha256,
        rewards=[
            {"name": reward.name, "weight": weights.get(reward.name), "sha256": reward.sha256}
            for reward in pinned
        ],
        preset=job.resolved_spec["algorithm"].get("preset"),
        seed=job.resolved_spec.get("seed"),
        started_from=(job.start or {}).get("id") or job.forked_from_id,
        spec_sha256=hashlib.sha256(orjson.dumps(job.resolved_spec, option=orjson.OPT_SORT_KEYS)).hexdigest(),
        created_at=job.created_at,
        finished_at=job.finished_at,
    )


async def _findings(session: AsyncSession, job_id: str) -> list[CardFinding]:
    query = select(FindingRow).where(FindingRow.job_id == job_id).order_by(FindingRow.seq)
    newest: dict[str, FindingRow] = {}
    for row in await session.scalars(query):
        newest[row.code] = row
    return [
        CardFinding(code=row.code, severity=row.severity, step=row.step, message=row.message)
        for row in newest.values()
        if row.severity in _SEVERE and row.resolved_step is None
    ]
