"""Fixtures of the Celery side: a toy backend, a folder that passes for a model, a supervisor between them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.supervised import DATASET, Bench
from tests.support.worker_api_stub import StubWorkerApi


@pytest.fixture
def server() -> Iterator[StubWorkerApi]:
    server = StubWorkerApi()
    server.state.blobs[hashlib.sha256(DATASET).hexdigest()] = DATASET
    yield server
    server.stop()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def bench(tmp_path: Path, server: StubWorkerApi, model: Path) -> Iterator[Bench]:
    home = tmp_path / "home"
    home.mkdir()
    bench = Bench(home, server, model)
    yield bench
    bench.clean_up()
