"""The fleet benchmark sends valid records and distinct, readable objects."""

import hashlib
import io

import orjson
import pyarrow.parquet as parquet
import pytest
from fleet.steps import METRICS, PROMPTS, SAMPLES, SCHEMA, Template, prompt_hash, template

from reinforge.records import Phase, Rollouts, StepMetrics
from reinforge.schemas.worker_api import RecordBatch
from worker.training.reporting import rollout_table


@pytest.fixture(scope="module")
def made() -> Template:
    return template(3, tokens=30)


def test_records_are_valid_for_the_worker_api(made: Template) -> None:
    batch = RecordBatch.model_validate(orjson.loads(made.records(2, 11, 70, "ab" * 32)))
    assert batch.attempt == 2
    assert [record.sequence for record in batch.records] == [11, 12, 13, 14]
    first, second, rollouts, metrics = batch.records
    assert isinstance(first, Phase)
    assert isinstance(second, Phase)
    assert isinstance(rollouts, Rollouts)
    assert isinstance(metrics, StepMetrics)
    assert (rollouts.step, rollouts.blob.bytes, len(metrics.values)) == (70, len(made.parquet), METRICS)
    places = [(row.prompt_no, row.sample_no) for row in rollouts.rows]
    assert places == [(prompt, sample) for prompt in range(PROMPTS) for sample in range(SAMPLES)]
    assert {row.prompt_hash.encode() for row in rollouts.rows} == {
        prompt_hash(70, number) for number in range(PROMPTS)
    }
    assert len(RecordBatch.model_validate(orjson.loads(made.begins(2, 10, 70))).records) == 1


def test_objects_differ_and_can_be_read(made: Template) -> None:
    objects = [made.object(mark) for mark in (1, 2)]
    assert objects[0][0] != objects[1][0]
    for sha256, content in objects:
        assert hashlib.sha256(content).hexdigest() == sha256
        file = parquet.ParquetFile(io.BytesIO(content))
        assert file.num_row_groups == PROMPTS
        rows = file.read_row_group(5).to_pylist()
        assert [row["prompt_no"] for row in rows] == [5] * SAMPLES
        assert all(len(row["entropies"]) == len(row["tokens"]) == row["length"] == 30 for row in rows)


def test_columns_are_those_of_the_worker() -> None:
    assert SCHEMA == rollout_table.SCHEMA
