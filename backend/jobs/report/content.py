"""Reads the content of a job's report from the database."""

from dataclasses import dataclass, field

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.lifecycle import fair_queue
from backend.jobs.monitoring import completions, metrics, training_checks
from backend.jobs.monitoring.object_cache import ObjectCache
from backend.jobs.report.figures import finite
from backend.models import Dataset, Job
from reinforge.diagnosis.verdict import Points
from reinforge.errors import ReinforgeError
from reinforge.net.broker import BrokerState
from reinforge.schemas.jobs import CompletionGroup, JobDetail
from reinforge.schemas.training_checks import JobTrainingCheck

BUCKETS = 400
_GROUP_COMPLETIONS = 4


@dataclass(frozen=True, slots=True)
class ReportContent:
    job: JobDetail
    dataset: str
    check: JobTrainingCheck
    series: dict[str, Points]
    groups: list[CompletionGroup] = field(default_factory=list)


async def read(
    session: AsyncSession, cache: ObjectCache, broker: BrokerState | None, job: Job, *, samples: int
) -> ReportContent:
    dataset = await session.scalar(select(Dataset.name).where(Dataset.id == job.dataset_id))
    return ReportContent(
        job=await fair_queue.detail(session, job, broker),
        dataset=dataset or job.dataset_id,
        check=await training_checks.view(session, job),
        series=await _series(session, job.id),
        groups=await _groups(session, cache, job, samples) if samples else [],
    )


async def _series(session: AsyncSession, job_id: str) -> dict[str, Points]:
    content, _ = await metrics.read(session, job_id, metrics.MetricFilter(buckets=BUCKETS))
    result: dict[str, Points] = {}
    for series in orjson.loads(content)["series"]:
        if (series["kind"] == "held_out") != series["key"].startswith("held_out/"):
            continue
        pairs = zip(series["steps"], series["values"], strict=True)
        points = finite([(step, value) for step, value in pairs if value is not None])
        if points:
            result[series["key"]] = points
    return result


async def _groups(session: AsyncSession, cache: ObjectCache, job: Job, limit: int) -> list[CompletionGroup]:
    for split in ("held_out", "train"):
        page = await completions.list_rows(
            session, job.id, split=split, step=None, prompt_no=None, sort=None, limit=1000, offset=0
        )
        numbers = list(dict.fromkeys(row.prompt_no for row in page.data))[:limit]
        if not numbers or page.step is None:
            continue
        try:
            return [
                _shortened(
                    await completions.group(
                        session, cache, job, split=split, step=page.step, prompt_no=number
                    )
                )
                for number in numbers
            ]
        except ReinforgeError:
            continue  # a damaged table hides samples, not the report
    return []


def _shortened(group: CompletionGroup) -> CompletionGroup:
    ordered = sorted(group.completions, key=lambda one: -float("inf") if one.reward is None else -one.reward)
    if len(ordered) > _GROUP_COMPLETIONS:
        half = _GROUP_COMPLETIONS // 2
        ordered = ordered[:half] + ordered[-half:]
    return group.model_copy(update={"completions": ordered})
