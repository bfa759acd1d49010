"""Several engine hosts as one engine."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from reinforge.errors import JobFailure
from tests.support.shared_hosts import HostBench, write_adapter
from worker.engine_host.client.hosted_server import HostedServer
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.fleet import Fleet
from worker.rollout.vllm.member import FleetMember


@pytest.fixture
def benches() -> Iterator[list[HostBench]]:
    benches = [HostBench(), HostBench()]
    yield benches
    for bench in benches:
        bench.close()


def fleet_of(benches: list[HostBench], warnings: list[str]) -> Fleet:
    servers = [HostedServer(bench) for bench in benches]
    adapters = Adapters(servers[0].adapters)
    members = [FleetMember(f"host {number}", server, 8, adapters) for number, server in enumerate(servers)]
    return Fleet(members, adapters, lambda _, folder: write_adapter(folder) and None, warnings.append)


def ask(count: int, version: int = 1) -> list[GenerateRequest]:
    noise = NoiseKey(1, Stream.TRAIN, 1, 0)
    plain = GenerateRequest("policy", version, (1, 2), 1, Sampling(4, 1.0), noise, tag=0)
    return [replace(plain, tag=tag, noise=replace(noise, prompt_no=tag)) for tag in range(count)]


def test_a_host_whose_vllm_dies_gives_its_requests_to_the_other(benches: list[HostBench]) -> None:
    warnings = list[str]()

    async def run() -> None:
        fleet = fleet_of(benches, warnings)
        try:
            await fleet.publish("policy", 1)
            assert [len(bench.stub.loaded) for bench in benches] == [1, 1]
            benches[1].stub.dies = True
            answers = [answer async for answer in fleet.generate(ask(6))]
            assert sorted(answer.request.tag for answer in answers) == [*range(6)]
            async with asyncio.timeout(10):
                while len(fleet.live) < 2:
                    await asyncio.sleep(0.02)
            await fleet.publish("policy", 2)
            assert len([answer async for answer in fleet.generate(ask(6, 2))]) == 6
            assert [len(bench.stubs) for bench in benches] == [1, 2]
        finally:
            await fleet.close()

    asyncio.run(run())
    assert len(warnings) == 1 and warnings[0].startswith("host 1 of 2 failed (")


def test_a_host_that_cannot_start_ends_the_leases_on_the_others(benches: list[HostBench]) -> None:
    benches[1].failure = JobFailure("no memory", code="vllm_start_failed", hint="")

    async def run() -> None:
        fleet = fleet_of(benches, [])
        with pytest.raises(JobFailure, match="no memory"):
            await fleet.publish("policy", 1)
        async with asyncio.timeout(10):
            while benches[0].host.facts().leases:
                await asyncio.sleep(0.02)
        await fleet.close()

    asyncio.run(run())
