"""Metrics of steps that follow each other, as columns: what waited while the backend was away is told at once."""

from collections.abc import Iterable, Sequence

from reinforge.records import Record, StepMetrics
from reinforge.schemas.worker_door import MetricColumns, Told


def packed(records: Iterable[Record]) -> list[Told]:
    """The same records in the same order, with as few elements as the worker API allows."""
    found: list[Told] = []
    run: list[StepMetrics] = []
    for record in records:
        if run and not (isinstance(record, StepMetrics) and _continues(run[-1], record)):
            found.append(_columns(run))
            run = []
        if isinstance(record, StepMetrics):
            run.append(record)
        else:
            found.append(record)
    return [*found, _columns(run)] if run else found


def _continues(before: StepMetrics, record: StepMetrics) -> bool:
    follows = record.sequence == before.sequence + 1 and record.step > before.step
    return follows and record.values.keys() == before.values.keys()


def _columns(run: Sequence[StepMetrics]) -> Told:
    if len(run) == 1:
        return run[0]
    return MetricColumns(
        sequence=run[0].sequence,
        step=[each.step for each in run],
        ts=[each.ts for each in run],
        values={key: [each.values[key] for each in run] for key in run[0].values},
    )
