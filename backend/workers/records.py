"""Records of a trainer, applied once each: in order, in one transaction, under the job's row lock."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Attempt
from backend.queue import WakeUps
from backend.workers.apply import Applier
from backend.workers.fence import lock_attempt, require_lease
from reinforge.errors import InvalidInput
from reinforge.records import Record, StepMetrics
from reinforge.schemas.worker_door import RecordBatch, RecordReply


async def store(
    session: AsyncSession, job_id: str, token: str | None, body: RecordBatch, wake_ups: WakeUps
) -> RecordReply:
    """Apply the records that are not stored yet; the rest of the batch was, and is acknowledged again.

    Raises LeaseLost, or InvalidInput (`sequence_gap`, `blob_missing`), and then nothing of the batch is stored.
    """
    job, attempt = await lock_attempt(session, job_id, body.attempt, token)
    fresh = [record for record in body.records if record.sequence > attempt.last_sequence]
    if fresh:
        require_lease(job, attempt)
        _check_sequence(attempt, fresh)
        applier = Applier(session, job, attempt, wake_ups)
        for record, behind in zip(fresh, [None, *fresh], strict=False):
            if not isinstance(behind, StepMetrics):  # what a step reports cannot end the lease
                require_lease(job, attempt)
            await applier.apply(record)
        await applier.finish()
        attempt.last_sequence = fresh[-1].sequence
    return RecordReply(acknowledged=attempt.last_sequence)


def _check_sequence(attempt: Attempt, records: Sequence[Record]) -> None:
    for expected, record in enumerate(records, attempt.last_sequence + 1):
        if record.sequence != expected:
            raise InvalidInput(
                f"Record {record.sequence} came where {expected} was expected.",
                code="sequence_gap",
                param="records",
                hint=f"Send the records from {attempt.last_sequence + 1} on, in order.",
            )
