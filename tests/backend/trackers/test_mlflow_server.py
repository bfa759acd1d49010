"""Export to a real MLflow server, which the benchmarks install in an environment of its own."""

import asyncio
import json
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from common.trackers import mlflow as mlflow_server

from backend.trackers import mlflow
from backend.trackers.batch import ExportBatch, ExportSteps
from reinforge.net.outbound import Guard


def steps(*numbers: int) -> list[ExportSteps]:
    return [ExportSteps(number, 1.7e9 + number, {"reward/mean": number / 2}) for number in numbers]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_run_is_complete_and_has_no_step_twice(empty_database_url: str, tmp_path: Path) -> None:
    with mlflow_server(tmp_path, empty_database_url) as (url, _):
        batch = ExportBatch(
            export_id="exp_1", kind="mlflow", url=url, destination="sums é", entity=None, username=None, key=None,
            run_id=None, job_id="ftjob-1", name="adds", job_url="https://rf.example.org/jobs/ftjob-1", notes="n",
            tags=["a b"], started=1.7e9, config={"limits": {"steps": 3}, "long": "y" * 9000}, steps=steps(1, 2),
            last=2, first=True,
        )  # fmt: skip
        guard = Guard.allowing("127.0.0.1")
        first = asyncio.run(mlflow.send(batch, guard))
        assert asyncio.run(mlflow.send(batch, guard)) == first  # its answer was lost
        end = replace(
            batch,
            first=False,
            run_id=first.run_id,
            steps=steps(1, 2, 3),
            last=3,
            status="failed",
            ended=1.7e9,
        )
        asyncio.run(mlflow.send(end, guard))

        def get(path: str) -> Any:
            with urllib.request.urlopen(f"{url}/api/2.0/mlflow/{path}", timeout=60) as reply:
                return json.load(reply)

        run = get(f"runs/get?run_id={first.run_id}")["run"]
        history = get(f"metrics/get-history?run_id={first.run_id}&metric_key=reward/mean")["metrics"]
    assert [(point["step"], point["value"]) for point in history] == [(1, 0.5), (2, 1.0), (3, 1.5)]
    assert (run["info"]["status"], run["info"]["run_name"]) == ("FAILED", "adds")
    assert {"key": "limits.steps", "value": "3"} in run["data"]["params"]
    assert {"key": "reinforge.job", "value": "ftjob-1"} in run["data"]["tags"]
