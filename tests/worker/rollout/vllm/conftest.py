"""One real vLLM server for all of these tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.support.vllm_bench import Bench, Trainer
from worker.machine.vllm_python import vllm_missing, vllm_python


@pytest.fixture(scope="session")
def python() -> Path:
    interpreter = vllm_python()
    if interpreter is None:
        pytest.fail(f"`make vllm` installs what this needs: {vllm_missing()}")
    return interpreter


@pytest.fixture(scope="session")
def trainer() -> Trainer:
    torch.set_num_threads(1)
    return Trainer()


@pytest.fixture(scope="session")
def bench(python: Path, trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(python, tmp_path_factory.mktemp("vllm"), trainer)
    yield bench
    bench.close()
