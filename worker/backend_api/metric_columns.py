"""Packs metrics of consecutive steps into columns, to deliver a backlog in one request."""

from collections.abc import Iterable, Sequence

from reinforge.records import Record, StepMetrics
from reinforge.schemas.worker_api import MetricColumns, ReportedRecord


def packed(records: Iterable[Record]) -> list[ReportedRecord]:
    """The same records in the same order, packed to fit the worker API's limit of elements."""
    packed_records: list[ReportedRecord] = []
    run: list[StepMetrics] = []
    for record in records:
        if run and not (isinstance(record, StepMetrics) and _continues(run[-1], record)):
            packed_records.append(_columns(run))
            run = []
        if isinstance(record, StepMetrics):
            run.append(record)
        else:
            packed_records.append(record)
    return [*packed_records, _columns(run)] if run else packed_records


def _continues(before: StepMetrics, record: StepMetrics) -> bool:
    follows = record.sequence == before.sequence + 1 and record.step > before.step
    return follows and record.values.keys() == before.values.keys()


def _columns(run: Sequence[StepMetrics]) -> ReportedRecord:
    if len(run) == 1:
        return run[0]
    return MetricColumns(
        sequence=run[0].sequence,
        step=[record.step for record in run],
        ts=[record.ts for record in run],
        values={key: [record.values[key] for record in run] for key in run[0].values},
    )
