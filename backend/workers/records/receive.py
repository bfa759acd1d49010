"""Reception of a trainer's records: each applied once, in order, in one transaction under the job's row lock."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Attempt
from backend.rpc.wake_ups import WakeUps
from backend.workers.fence import lock_attempt, require_lease
from backend.workers.records.apply import Applier
from reinforge.errors import InvalidInput
from reinforge.records import StepMetrics
from reinforge.schemas.worker_api import (
    MetricColumns,
    RecordBatch,
    RecordReply,
    ReportedRecord,
    last_sequence,
)


async def store(
    session: AsyncSession, job_id: str, token: str | None, body: RecordBatch, wake_ups: WakeUps
) -> RecordReply:
    """Apply the new records of a batch; the rest is acknowledged again.

    Raises LeaseLost, or InvalidInput (`sequence_gap`, `blob_missing`); then nothing of the batch is stored.
    """
    job, attempt = await lock_attempt(session, job_id, body.attempt, token)
    fresh = _unknown(body.records, attempt.last_sequence)
    if fresh:
        require_lease(job, attempt)
        _check_sequence(attempt, fresh)
        applier = Applier(session, job, attempt, wake_ups)
        for record, behind in zip(fresh, [None, *fresh], strict=False):
            if not isinstance(behind, StepMetrics | MetricColumns):  # step records cannot end the lease
                require_lease(job, attempt)
            await applier.apply(record)
        await applier.finish()
        attempt.last_sequence = last_sequence(fresh[-1])
    return RecordReply(acknowledged=attempt.last_sequence)


def _unknown(records: Sequence[ReportedRecord], stored: int) -> list[ReportedRecord]:
    """Records after the stored sequence; the remainder of a partially stored column record."""
    fresh = (record for record in records if last_sequence(record) > stored)
    return [record.behind(stored) if isinstance(record, MetricColumns) else record for record in fresh]


def _check_sequence(attempt: Attempt, records: Sequence[ReportedRecord]) -> None:
    expected = attempt.last_sequence + 1
    for record in records:
        if record.sequence != expected:
            raise InvalidInput(
                f"Record {record.sequence} came where {expected} was expected.",
                code="sequence_gap",
                param="records",
                hint=f"Send the records from {attempt.last_sequence + 1} on, in order.",
            )
        expected = last_sequence(record) + 1
