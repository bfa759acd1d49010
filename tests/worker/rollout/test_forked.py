"""An engine in a copy of this process: the same samples, the newest weights, and an end whatever happens."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from tests.worker.rollout.asking import Setup, generate
from worker.rollout.engine import Generated, GenerateRequest
from worker.rollout.forked import EngineLost, ForkedEngine


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path, "qwen3")


@pytest.fixture
def forked(setup: Setup) -> Iterator[ForkedEngine]:
    made = ForkedEngine(setup.new_engine(), setup.policy.weights, setup.policy.take_weights)
    asyncio.run(made.publish("policy", 0))
    yield made
    asyncio.run(made.close())


TEXTS = ["a", "somewhat longer", "äöü 日本", "mid size"]


def test_a_copy_samples_the_same_bits(setup: Setup, forked: ForkedEngine) -> None:
    for requests in (
        setup.ask(TEXTS),
        setup.ask(TEXTS, policy=None, step=2),
        setup.ask(TEXTS, entropies=True),
    ):
        assert _samples(generate(forked, requests)) == _samples(generate(setup.engine, requests))


def test_a_copy_samples_with_the_weights_that_were_published_last(setup: Setup, forked: ForkedEngine) -> None:
    requests = setup.ask(TEXTS, temperature=0.0)
    before = generate(forked, requests)
    with torch.no_grad():
        for parameter in setup.policy._parameters.values():
            parameter.mul_(-1.5)
    # Not published: the copy has weights of its own.
    assert _samples(generate(forked, requests)) == _samples(before)
    asyncio.run(forked.publish("policy", 0))
    after = generate(forked, requests)
    assert _samples(after) == _samples(generate(setup.engine, requests))
    assert _samples(after) != _samples(before)


def test_cancelled_requests_return_what_they_have(setup: Setup, forked: ForkedEngine) -> None:
    async def run() -> list[Generated]:
        asyncio.get_running_loop().call_later(0.3, forked.cancel)
        requests = setup.ask(["endless"], n=2, max_tokens=20_000, stop_ids=())
        return [answer async for answer in forked.generate(requests)]

    (answer,) = asyncio.run(run())
    assert [sample.finish_reason for sample in answer.samples] == ["cancelled"] * 2
    assert 0 < len(answer.samples[0].token_ids) < 20_000
    assert generate(forked, setup.ask(["next"], n=1))[0].samples[0].finish_reason != "cancelled"


def test_what_the_engine_raises_is_raised_here_and_the_copy_goes_on(
    setup: Setup, forked: ForkedEngine
) -> None:
    asyncio.run(forked.publish("policy", 1))
    with pytest.raises(RuntimeError, match="asked for policy version 0, the engine holds 1"):
        generate(forked, setup.ask(TEXTS))
    asyncio.run(forked.publish("policy", 0))
    assert len(generate(forked, setup.ask(TEXTS))) == len(TEXTS)


def test_answers_that_nobody_waited_for_are_not_taken_for_others(setup: Setup, forked: ForkedEngine) -> None:
    async def first(requests: Sequence[GenerateRequest]) -> None:
        answers = forked.generate(requests)
        async for _ in answers:
            break
        await answers.aclose()

    asyncio.run(first(setup.ask(TEXTS)))
    requests = setup.ask(TEXTS, step=2)
    assert _samples(generate(forked, requests)) == _samples(generate(setup.engine, requests))


@pytest.mark.parametrize("when", ["before", "while it samples"])
def test_a_copy_that_is_killed_is_lost(setup: Setup, forked: ForkedEngine, when: str) -> None:
    async def run() -> None:
        if when == "before":
            os.kill(forked.pid, signal.SIGKILL)
        else:
            asyncio.get_running_loop().call_later(0.2, os.kill, forked.pid, signal.SIGKILL)
        async for _ in forked.generate(setup.ask(["endless"], n=2, max_tokens=20_000, stop_ids=())):
            pass

    with pytest.raises(EngineLost, match=f"process {forked.pid}"):
        asyncio.run(run())


def test_signals_for_the_group_are_left_to_the_parent(setup: Setup, forked: ForkedEngine) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(forked.pid, number)
    assert len(generate(forked, setup.ask(TEXTS))) == len(TEXTS)


def test_a_closed_copy_is_gone(setup: Setup, forked: ForkedEngine) -> None:
    asyncio.run(forked.close())
    with pytest.raises(ProcessLookupError):
        os.kill(forked.pid, 0)
    asyncio.run(forked.close())


PARENT = """
import os, sys, time
from worker.rollout.forked import ForkedEngine

read_end, write_end = os.pipe()
made = ForkedEngine(None, dict, print)
print(made.pid, flush=True)
os.close(write_end)
assert os.read(read_end, 1) == b"", "the copy holds its parent's files"
print("closed", flush=True)
time.sleep(600)
"""


def test_a_copy_ends_with_its_parent_and_holds_none_of_its_files() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        copy = int(parent.stdout.readline())
        assert parent.stdout.readline() == "closed\n"
        assert _runs(copy)
        parent.kill()
    deadline = time.monotonic() + 20
    while _runs(copy):
        assert time.monotonic() < deadline, "the copy outlived its parent"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    """Whether there is such a process and it has not ended; nobody may have asked how it did."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _samples(answers: Sequence[Generated]) -> list[object]:
    return [answer.samples for answer in answers]
