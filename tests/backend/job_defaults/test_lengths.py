"""Lengths of prompts and answers: how often a dataset is read for them."""

from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from backend.datasets import service as datasets
from backend.job_defaults import lengths
from backend.jobs import service as jobs
from backend.models import BaseModel, Dataset
from reinforge.spec import DataSpec


def test_rows_that_give_no_prompts_are_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "1+1=", "other": 1}\n')
    reads = 0

    async def local_file(*_: Any) -> Path:
        nonlocal reads
        reads += 1
        return file

    monkeypatch.setattr(datasets, "local_file", local_file)
    columns = [{"name": "text", "kind": "string"}, {"name": "other", "kind": "number"}]
    size = file.stat().st_size
    dataset = Dataset(sha256="a", format="jsonl", bytes=size, rows=1, columns=columns, project_id="p")
    model = BaseModel(key="m", sha256="b", source="m", vocabulary=64)
    data = DataSpec.model_validate({"dataset": "file-1", "columns": {"prompt": "other"}})
    services = cast(Any, type("Services", (), {"objects": None, "settings": None}))

    async def twice() -> list[Any]:
        return [await lengths.measured_texts(services, dataset, model, data) for _ in range(2)]

    monkeypatch.setattr(jobs, "dataset_cache", lambda _: tmp_path)
    assert anyio.run(twice) == [None, None]
    assert reads == 1
