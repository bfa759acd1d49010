"""Records on their way to the backend, neighbouring metrics as columns."""

from reinforge.records import RECORD, LogLine, Record, StepMetrics
from reinforge.schemas.worker_api import MetricColumns, ReportedRecord
from tests.support.worker_api_stub import unpacked
from worker.backend_api.metric_columns import packed


def step(sequence: int, number: int, **values: float | None) -> StepMetrics:
    return StepMetrics(sequence=sequence, ts=10.0 + sequence, step=number, values=values)


def log(sequence: int) -> LogLine:
    return LogLine(sequence=sequence, ts=1.0, level="info", message="between")


def records_of(reported: list[ReportedRecord]) -> list[Record]:
    return [RECORD.validate_python(record) for record in unpacked(one.model_dump() for one in reported)]


def test_neighbours_with_the_same_keys_become_columns() -> None:
    records: list[Record] = [step(3, 7, a=1.0, b=None), step(4, 8, b=2.0, a=None), step(5, 11, a=3.0, b=4.0)]
    [columns] = packed(records)
    assert isinstance(columns, MetricColumns)
    assert (columns.sequence, columns.last, columns.step) == (3, 5, [7, 8, 11])
    assert columns.values == {"a": [1.0, None, 3.0], "b": [None, 2.0, 4.0]}
    assert records_of([columns]) == records


def test_records_that_do_not_fit_columns_stay_as_they_are() -> None:
    records: list[Record] = [
        log(1), step(2, 1, a=1.0), log(3), step(4, 2, a=1.0), step(5, 3, b=1.0),
        step(6, 4, b=1.0), step(7, 4, b=2.0), step(8, 3, b=1.0), step(10, 5, b=1.0), log(11),
    ]  # fmt: skip
    packed_records = packed(records)
    assert records_of(packed_records) == records
    assert [record.sequence for record in packed_records if isinstance(record, MetricColumns)] == [5]


def test_nothing_is_nothing() -> None:
    assert packed([]) == []


def test_what_lies_behind_a_sequence() -> None:
    [columns] = packed([step(3, 7, a=1.0), step(4, 8, a=2.0), step(5, 9, a=3.0)])
    assert isinstance(columns, MetricColumns)
    assert columns.behind(2) is columns
    rest = columns.behind(4)
    assert (rest.sequence, rest.last, rest.step, rest.ts, rest.values) == (5, 5, [9], [15.0], {"a": [3.0]})
