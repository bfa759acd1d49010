"""Which engine samples for a job."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.worker.rollout.asking import Setup, generate
from worker.engines import own_engine
from worker.rollout.side_by_side import SideBySide
from worker.rollout.transformers_engine import TransformersEngine


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("lanes", "prompts", "completions", "threads"),
    [(1, 16, 8, 1), (2, 2, 8, 1), (2, 1, 128, 1), (2, 16, 8, 2)],
    ids=["one core", "few rows", "one prompt", "wide"],
)
def test_one_process_samples_where_another_has_nothing_to_do(
    tmp_path: Path, lanes: int, prompts: int, completions: int, threads: int
) -> None:
    setup = Setup(tmp_path, "qwen3", lanes)
    torch.set_num_threads(threads)
    engine = own_engine(prompts, completions, setup.base, setup.host, setup.policy, print)
    assert isinstance(engine, TransformersEngine)


def test_idle_cores_sample_too_and_the_samples_are_the_same(tmp_path: Path) -> None:
    setup = Setup(tmp_path, "qwen3", lanes=2)
    engine = own_engine(16, 8, setup.base, setup.host, setup.policy, print)
    assert isinstance(engine, SideBySide)
    try:
        asyncio.run(engine.publish("policy", 0))
        requests = setup.ask([f"prompt {number}" for number in range(16)], n=8)
        found, expected = generate(engine, requests), generate(setup.engine, requests)
    finally:
        asyncio.run(engine.close())
    tokens = [[[sample.token_ids for sample in a.samples] for a in answers] for answers in (found, expected)]
    assert tokens[0] == tokens[1] and len(tokens[0]) == 16


def test_a_machine_that_lets_nothing_be_forked_is_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    setup, said = Setup(tmp_path, "qwen3", lanes=2), list[str]()
    monkeypatch.setattr("worker.rollout.forked.os.fork", refused)
    engine = own_engine(16, 8, setup.base, setup.host, setup.policy, said.append)
    asyncio.run(engine.publish("policy", 0))
    assert len(generate(engine, setup.ask(["a", "b"], n=40))) == 2
    assert said == ["Sampling with 1 processes instead of 2: [Errno 11] Resource temporarily unavailable"]
