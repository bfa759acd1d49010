"""An engine in a copy of this process: the same samples, the newest weights, and an end whatever happens."""

import asyncio
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.worker.rollout.setups import Setup, generate
from worker.machine.portable_error import portable
from worker.rollout.cpu.forked_engine import EngineLost, ForkedEngine, SharedWeights, _Generate
from worker.rollout.engine import Generated, GenerateRequest


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path, "qwen3")


@pytest.fixture
def forked(setup: Setup) -> Iterator[ForkedEngine]:
    made = ForkedEngine(setup.new_engine(), SharedWeights(setup.policy.weights, setup.policy.load_weights))
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
        answers = []
        (short,) = setup.ask(["short"], n=2, max_tokens=2, stop_ids=())
        (endless,) = setup.ask(["endless"], n=2, max_tokens=20_000, stop_ids=(), step=2)
        # The short one is a batch of its own before the other: once it is answered, the copy samples.
        async for answer in forked.generate([replace(short, prompt_ids=short.prompt_ids * 9), endless]):
            answers.append(answer)
            if len(answers) == 1:
                asyncio.get_running_loop().call_later(0.05, forked.cancel)
        return answers

    short, answer = asyncio.run(run())
    assert [sample.finish_reason for sample in short.samples] == ["length"] * 2
    assert [sample.finish_reason for sample in answer.samples] == ["cancelled"] * 2
    assert len(answer.samples[0].token_ids) < 20_000
    assert generate(forked, setup.ask(["next"], n=1))[0].samples[0].finish_reason != "cancelled"


def test_what_the_engine_raises_is_raised_here_and_the_copy_goes_on(
    setup: Setup, forked: ForkedEngine
) -> None:
    asyncio.run(forked.publish("policy", 1))
    with pytest.raises(ValueError, match="requested policy version 0, but the engine has 1") as raised:
        generate(forked, setup.ask(TEXTS))
    (note,) = raised.value.__notes__
    assert note.startswith(f"In sampling process {forked.pid}:") and "_check_version" in note
    asyncio.run(forked.publish("policy", 0))
    assert len(generate(forked, setup.ask(TEXTS))) == len(TEXTS)


class Special(Exception):
    def __init__(self, one: str, *, other: str) -> None:
        super().__init__(f"{one} and {other}")


def test_an_error_that_cannot_be_pickled_is_sent_as_text() -> None:
    for error, kind, words in (
        (MemoryError("none left"), MemoryError, "none left"),
        (Special("this", other="that"), RuntimeError, "Special: this and that"),
    ):
        sent = pickle.loads(pickle.dumps(portable(error, "sampling process")))
        assert type(sent) is kind and str(sent) == words and "In sampling process" in sent.__notes__[0]


def test_a_copy_whose_answer_nobody_reads_ends_without_an_error(
    setup: Setup, forked: ForkedEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    """As between the two halves of `close`: the pipe is closed, the process not killed yet."""
    forked._send(_Generate(1, setup.ask(TEXTS)))
    with socket.socket(fileno=os.dup(forked._pipe.fileno())) as ours:
        ours.shutdown(socket.SHUT_RD)
    _, status = os.waitpid(forked.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert capfd.readouterr().err == ""


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


def test_signals_for_the_group_are_left_to_the_parent(setup: Setup) -> None:
    """From its first moment on."""
    weights = SharedWeights(setup.policy.weights, setup.policy.load_weights)
    for _ in range(5):
        forked = ForkedEngine(setup.engine, weights)
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(forked.pid, number)
        asyncio.run(forked.publish("policy", 0))
        assert len(generate(forked, setup.ask(TEXTS[:1], max_tokens=2))) == 1
        asyncio.run(forked.close())
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert not blocked & {signal.SIGINT, signal.SIGTERM}


def test_a_closing_while_it_samples_leaves_nothing_behind(
    setup: Setup, forked: ForkedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    """As a job does that is cancelled: what was asked is given up, then the engine is closed."""

    async def run() -> None:
        answers = forked.generate(setup.ask(["endless"], n=2, max_tokens=20_000, stop_ids=()))
        waiting = asyncio.ensure_future(anext(answers))
        await asyncio.sleep(0.05)
        await forked.close()
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        await answers.aclose()

    before = _open_files()
    asyncio.run(run())
    assert not caplog.records and _open_files() <= before
    with pytest.raises(EngineLost):
        generate(forked, setup.ask(["next"]))


def test_a_closed_copy_is_gone(setup: Setup, forked: ForkedEngine) -> None:
    asyncio.run(forked.close())
    with pytest.raises(ProcessLookupError):
        os.kill(forked.pid, 0)
    asyncio.run(forked.close())


PARENT = """
import os, sys, time
import select
from worker.rollout.cpu.forked_engine import ForkedEngine, SharedWeights

read_end, write_end = os.pipe()
made = ForkedEngine(None, SharedWeights(dict, print))
print(made.pid, flush=True)
os.close(write_end)
print("closed" if select.select([read_end], [], [], 30)[0] else "held by the copy", flush=True)
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


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _runs(pid: int) -> bool:
    """Whether there is such a process and it has not ended; nobody may have asked how it did."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _samples(answers: Sequence[Generated]) -> list[object]:
    return [answer.samples for answer in answers]
