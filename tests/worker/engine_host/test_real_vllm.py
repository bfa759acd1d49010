"""Two engines on one host with a real vLLM: each samples its own trainer's policy, through crashes too."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.vllm_bench import RANK, STARTER, Trainer
from worker.engine_host.client.hosted_server import HostedServer
from worker.engine_host.client.local import LocalHosts, read_note
from worker.machine.vllm_python import vllm_missing, vllm_python
from worker.rollout.engine import Generated, GenerateRequest
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.options import Options

pytestmark = [pytest.mark.vllm, pytest.mark.long, pytest.mark.timeout(900)]
PROMPTS = ["12+34=", "7+8=", "90+5="]
TOLERANCE = 1e-4


async def generate(engine: VllmEngine, requests: Sequence[GenerateRequest]) -> list[Generated]:
    return [answer async for answer in engine.generate(requests)]


def test_two_engines_share_one_vllm(tmp_path: Path) -> None:
    python = vllm_python()
    if python is None:
        pytest.fail(f"`make vllm` installs what this needs: {vllm_missing()}")
    options = Options(STARTER, "float32", "cpu", max_model_len=128, rank=RANK)
    source = LocalHosts(tmp_path, python, options, "a" * 64, 128, RANK, idle_seconds=1.0, context=512)
    trainers = [Trainer(), Trainer()]
    for seed, trainer in enumerate(trainers):
        trainer.move(seed + 1)
    first, second = trainers

    async def together() -> None:
        engines = [VllmEngine(HostedServer(source), trainer.export) for trainer in trainers]
        await asyncio.gather(*(engine.publish("policy", 1) for engine in engines))

        async def sample(*requests: list[GenerateRequest]) -> list[list[Generated]]:
            pairs = zip(engines, requests, strict=True)
            return await asyncio.gather(*(generate(engine, batch) for engine, batch in pairs))

        own, other = await sample(first.ask(PROMPTS, version=1), second.ask(PROMPTS, version=1))
        assert first.gap(own) < TOLERANCE and second.gap(other) < TOLERANCE
        assert first.gap(other) > 0.1  # each has its own adapter
        own, base = await sample(first.ask(PROMPTS, version=1), second.ask(PROMPTS, policy=None))
        assert first.gap(own) < TOLERANCE and second.gap(base, base=True) < TOLERANCE

        server = engines[0]._server
        assert isinstance(server, HostedServer) and server.facts is not None and server.facts.server_pid
        os.killpg(server.facts.server_pid, signal.SIGKILL)
        own, other = await sample(first.ask(PROMPTS, version=1), second.ask(PROMPTS, version=1))
        assert first.gap(own) < TOLERANCE and second.gap(other) < TOLERANCE
        note = read_note(source.folder)
        assert note is not None
        for engine in engines:
            await engine.close()
        while note.process.alive:
            await asyncio.sleep(0.1)
        assert not note.folder.exists()

    asyncio.run(together())
