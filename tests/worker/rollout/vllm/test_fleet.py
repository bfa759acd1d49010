"""Two real servers as one engine, of which one is killed while it samples."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.vllm_bench import Bench, Trainer
from worker.rollout.engine import Generated

pytestmark = [pytest.mark.vllm, pytest.mark.long, pytest.mark.timeout(900)]
PROMPTS = [f"{number}+{number + 7}=" for number in range(10, 26)]


def tokens(answers: list[Generated]) -> list[list[tuple[int, ...]]]:
    return [[sample.token_ids for sample in answer.samples] for answer in answers]


def test_a_server_that_is_killed_costs_no_completion(
    bench: Bench, python: Path, trainer: Trainer, tmp_path: Path
) -> None:
    """120 s: two more servers, of which one is started twice. Only the server dies, not its supervisor process,
    as when it is killed for memory.
    """
    fleet = Bench(python, tmp_path, trainer, servers=2)
    try:
        trainer.move(3)
        fleet.publish(3)
        bench.publish(3)
        requests = trainer.ask(PROMPTS, version=3, max_tokens=200, stop_ids=())
        alone, together = bench.generate(requests), fleet.generate(requests)
        assert tokens(together) == tokens(alone), "the server does not matter"

        victim = fleet.servers[1]
        killed = server_process(victim.pid)

        async def kill() -> None:
            await asyncio.sleep(0.5)
            os.kill(killed, signal.SIGKILL)

        killing = fleet.loop.create_task(kill())
        answers = fleet.generate(requests)
        fleet.run(asyncio.wait_for(killing, 1))
        assert tokens(answers) == tokens(alone) and trainer.gap(answers) < 1e-4
        assert any(line.startswith("vLLM server 2 of 2 failed (") for line in fleet.messages)

        trainer.move(4)
        fleet.publish(4)
        fleet.run(until_live(fleet))
        assert server_process(victim.pid) != killed
        assert trainer.gap(fleet.generate(trainer.ask(PROMPTS, version=4))) < 1e-4
        assert fleet.run(victim.api.names() if victim.api else asyncio.sleep(0)) == [
            "base",
            *(version.name for version in fleet.sampler._adapters.held),
        ]
    finally:
        fleet.close()
    assert not any(server.adapters.parent.exists() for server in fleet.servers)


def server_process(supervisor: int | None) -> int:
    [pid] = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return int(pid)


async def until_live(fleet: Bench) -> None:
    deadline = time.monotonic() + 300
    while len(fleet.sampler.live) < 2 and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
