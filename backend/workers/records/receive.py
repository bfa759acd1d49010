"""Reception of a trainer's records: each once, by sequence number, in one transaction."""

from collections.abc import Iterator, Sequence
from functools import partial

from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import after_commit
from backend.models import Attempt
from backend.rpc.wake_ups import WakeUps
from backend.telemetry.process_figures import count_steps
from backend.workers.fence import lock_attempt, require_lease
from backend.workers.records.apply import Applier
from reinforge.errors import InvalidInput
from reinforge.records import Record, StepMetrics
from reinforge.schemas.worker_api import MetricColumns, RecordBatch, RecordReply


async def store(
    session: AsyncSession, job_id: str, token: str | None, body: RecordBatch, wake_ups: WakeUps
) -> RecordReply:
    """Apply all new records of a batch, or none. Raises LeaseLost, InvalidInput."""
    job, attempt = await lock_attempt(session, job_id, body.attempt, token)
    fresh = [record for record in _single(body) if record.sequence > attempt.last_sequence]
    if fresh:
        require_lease(job, attempt)
        _check_sequence(attempt, fresh)
        applier = Applier(session, job, attempt, wake_ups)
        for record, behind in zip(fresh, [None, *fresh], strict=False):
            if not isinstance(behind, StepMetrics):  # step records cannot end the lease
                require_lease(job, attempt)
            await applier.apply(record)
        await applier.finish()
        attempt.last_sequence = fresh[-1].sequence
        steps = [record for record in fresh if isinstance(record, StepMetrics)]
        after_commit(session, partial(_count, attempt.worker_id, steps))
    return RecordReply(acknowledged=attempt.last_sequence)


async def _count(worker: str, steps: Sequence[StepMetrics]) -> None:
    count_steps(worker, steps)


def _single(body: RecordBatch) -> Iterator[Record]:
    for record in body.records:
        yield from record.records() if isinstance(record, MetricColumns) else [record]


def _check_sequence(attempt: Attempt, records: Sequence[Record]) -> None:
    expected = attempt.last_sequence + 1
    for record in records:
        if record.sequence != expected:
            raise InvalidInput(
                f"Record {record.sequence} came where {expected} was expected.",
                code="sequence_gap",
                param="records",
                hint=f"Send the records from {attempt.last_sequence + 1} on, in order.",
            )
        expected = record.sequence + 1
