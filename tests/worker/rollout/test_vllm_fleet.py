"""Several vLLM servers as one engine: requests are dealt, all are answered, and a failed server costs no result."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from reinforge.errors import JobFailure
from tests.support.vllm_stub import StubServer
from worker.rollout.engine import (
    ContinuousEngine,
    Generated,
    GenerateRequest,
    NoiseKey,
    RequestQueue,
    Sampling,
)
from worker.rollout.noise import Stream
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.fleet import Fleet
from worker.rollout.vllm.member import FleetMember
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.server import VllmServer

Tokens = dict[int, tuple[tuple[int, ...], ...]]


@dataclass
class Bench:
    servers: list[StubServer]
    rows: int = 8
    quiet_seconds: float = 5.0
    exports: list[Path] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        adapters = Adapters(self.servers[0].adapters)
        for server in self.servers:
            server.quiet_seconds = self.quiet_seconds
        members = [FleetMember(server.name, server, self.rows, adapters) for server in self.servers]
        self.fleet = Fleet(members, adapters, self.export, self.warnings.append)

    def export(self, policy: str, folder: Path) -> None:
        folder.mkdir()
        self.exports.append(folder)

    async def generate(self, requests: Sequence[GenerateRequest]) -> Tokens:
        return tokens([answer async for answer in self.fleet.generate(requests)])


def tokens(answers: Sequence[Generated]) -> Tokens:
    assert all(sample.finish_reason == "length" for answer in answers for sample in answer.samples)
    assert len({answer.request.tag for answer in answers}) == len(answers)
    return {answer.request.tag: tuple(s.token_ids for s in answer.samples) for answer in answers}


def ask(count: int, n: int = 4, **changes: Any) -> list[GenerateRequest]:
    sampling = Sampling(4, 1.0)
    return [
        replace(
            GenerateRequest("policy", 1, (5, 6, tag), n, sampling, NoiseKey(7, Stream.TRAIN, 1, tag), tag),
            **changes,
        )
        for tag in range(count)
    ]


def with_fleet(count: int, test: Callable[[Bench], Awaitable[None]], **settings: Any) -> Bench:
    """Run a test with a fleet that has published version 1."""

    async def run() -> Bench:
        bench = Bench([StubServer(f"server {number + 1}") for number in range(count)], **settings)
        try:
            await bench.fleet.publish("policy", 1)
            await test(bench)
        finally:
            await bench.fleet.close()
        return bench

    bench = asyncio.run(run())
    assert not any(server.folder.exists() or server.stub.socket.exists() for server in bench.servers)
    return bench


async def expected(requests: Sequence[GenerateRequest]) -> Tokens:
    """Tokens of a single server that nobody disturbs."""
    bench = Bench([StubServer("alone")], rows=1000)
    try:
        await bench.fleet.publish("policy", 1)
        return await bench.generate(requests)
    finally:
        await bench.fleet.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def test_requests_are_dealt_by_rows_and_the_server_does_not_matter() -> None:
    async def test(bench: Bench) -> None:
        requests = ask(20)
        assert await bench.generate(requests) == await expected(requests)
        assert [server.stub.most_rows for server in bench.servers] == [8, 8], (
            "two requests of four rows at once"
        )
        assert sorted(len(server.stub.prompts) for server in bench.servers) != [0, 20]
        (large,) = ask(1, n=12)
        assert await bench.generate([large]) == await expected([large]), "more rows than a server takes"

    bench = with_fleet(2, test)
    assert isinstance(bench.fleet, ContinuousEngine) and not bench.warnings


def test_an_adapter_is_exported_once_and_loaded_by_all() -> None:
    async def test(bench: Bench) -> None:
        await bench.fleet.publish("policy", 2)
        (first, second) = bench.exports
        for server in bench.servers:
            assert list(server.stub.adapters.values()) == [str(second)], "the old name is gone"
        assert await bench.generate(ask(2, version=2))
        with pytest.raises(ValueError, match="requested policy version 1, but the engine has 2"):
            await bench.generate(ask(2))
        await bench.fleet.publish("policy", 3)
        assert not first.exists() and second.exists(), "a folder goes one publication later"
        await bench.fleet.rest()
        assert [server.rests for server in bench.servers] == [1, 1, 1]

    with_fleet(3, test)


def test_requests_of_a_killed_server_go_to_the_others_and_it_comes_back() -> None:
    async def test(bench: Bench) -> None:
        requests, (one, two) = ask(12), bench.servers
        two.stub.gate.clear()
        two.restarting.clear()
        answering = asyncio.create_task(bench.generate(requests))
        await until(lambda: two.stub.rows == 8)
        two.stub.kill()
        assert await answering == await expected(requests), "all of them, once, with the same tokens"
        assert one.stub.served == {request.prompt_ids for request in requests}
        assert len(bench.warnings) == 1 and bench.warnings[0].startswith("server 2 of 2 failed (")
        assert bench.warnings[0].endswith("its requests go to the other one")

        await bench.fleet.publish("policy", 2)
        two.restarting.set()
        await until(lambda: len(bench.fleet.live) == 2)
        assert list(two.stub.adapters.values()) == [str(bench.exports[-1])], "what was published meanwhile"
        assert await bench.generate(ask(12, version=2))
        assert len(two.stubs) == 2 and two.stub.prompts

    with_fleet(2, test)


def test_a_server_that_hangs_is_replaced() -> None:
    async def test(bench: Bench) -> None:
        bench.servers[1].stub.gate.clear()
        assert await bench.generate(ask(12)) == await expected(ask(12))
        assert bench.warnings == [
            "server 2 of 2 failed (not a word for 0.5 s): its requests go to the other one"
        ]

    with_fleet(2, test, quiet_seconds=0.5)


def test_one_that_comes_back_joins_a_sampling_that_runs() -> None:
    async def test(bench: Bench) -> None:
        one, two = bench.servers
        for server in bench.servers:
            server.stub.gate.clear()
        answering = asyncio.create_task(bench.generate(ask(12)))
        await until(lambda: two.stub.rows == 8)
        two.stub.kill()
        await until(lambda: len(two.stubs) == 2 and bool(two.stub.served))
        assert not one.stub.served
        one.stub.gate.set()
        assert len(await answering) == 12

    with_fleet(2, test)


def test_requests_wait_while_the_only_servers_restart() -> None:
    async def test(bench: Bench) -> None:
        for server in bench.servers:
            server.stub.gate.clear()
        answering = asyncio.create_task(bench.generate(ask(4)))
        await until(lambda: all(server.stub.rows for server in bench.servers))
        for server in bench.servers:
            server.stub.kill()
        assert await answering == await expected(ask(4))
        assert bench.warnings[-1].endswith("its requests wait for a restart")

    with_fleet(2, test)


def test_only_the_last_server_ends_the_job() -> None:
    async def test(bench: Bench) -> None:
        one, two = bench.servers
        for server in (two, two):
            server.stub.kill()
            await bench.fleet.publish("policy", 1)
            await until(lambda: all(member.state != "restarting" for member in bench.fleet._members))
        assert [member.name for member in bench.fleet.live] == ["server 1"]
        assert bench.warnings[-1].startswith("server 2 is not used again, 1 left: vLLM failed again")
        assert len(await bench.generate(ask(6))) == 6
        one.stub.kill()
        assert len(await bench.generate(ask(6))) == 6, "it is restarted"
        one.stub.kill()
        with pytest.raises(JobFailure) as failure:
            await bench.generate(ask(6))
        assert failure.value.code == "vllm_lost"
        with pytest.raises(JobFailure):
            await bench.fleet.publish("policy", 2)

    with_fleet(2, test)


def test_an_adapter_that_all_refuse_is_refused() -> None:
    async def test(bench: Bench) -> None:
        for server in bench.servers:
            server.refuses = lambda name: name.startswith("policy-2")
        with pytest.raises(JobFailure) as failure:
            await bench.fleet.publish("policy", 2)
        assert failure.value.code == "vllm_refused" and "no such module" in failure.value.message
        assert [server.restarts for server in bench.servers] == [1, 1]

    with_fleet(2, test)


@pytest.mark.parametrize("fault", ["start", "version"])
def test_a_start_that_fails_leaves_nothing(fault: str) -> None:
    error = JobFailure("vLLM ended while it was starting.", code="vllm_start_failed", hint="")

    async def start() -> list[StubServer]:
        bad = (
            StubServer("server 2", start_error=error)
            if fault == "start"
            else StubServer("server 2", version="0.31.0")
        )
        bench = Bench([StubServer("server 1"), bad, StubServer("server 3")])
        with pytest.raises(JobFailure) as failure:
            await bench.fleet.publish("policy", 1)
        if fault == "start":
            assert failure.value is error
        else:
            assert failure.value.code == "vllm_version_mismatch" and failure.value.retryable
            assert failure.value.message.startswith("server 2 runs vLLM 0.31.0, but server 1 runs 0.32.0")
        assert not bench.exports and not bench.warnings
        servers = list(bench.servers)
        assert not any(server.folder.exists() for server in servers)
        await bench.fleet.close()  # as the trainer does
        return servers

    for server in asyncio.run(start()):
        assert not any(stub.socket.exists() for stub in server.stubs)


def interpreter(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("cancelled", [False, True])
def test_processes_of_a_start_that_fails_or_is_cancelled_end(tmp_path: Path, cancelled: bool) -> None:
    """With the supervisor processes of real servers, but programs of our own in the place of vLLM."""
    waits = interpreter(tmp_path / "waits", "exec sleep 60")
    other = waits if cancelled else interpreter(tmp_path / "fails", "echo no such model; exit 3")
    options = Options(Path("model"), "float32", "cpu", max_model_len=64, rank=8)
    servers = [VllmServer(python, options, tmp_path / f"{python.name}.log") for python in (waits, other)]
    adapters = Adapters(servers[0].adapters)
    members = [FleetMember(f"server {n}", server, 8, adapters) for n, server in enumerate(servers)]
    fleet = Fleet(members, adapters, lambda policy, folder: None, print)

    async def start() -> None:
        if cancelled:
            asyncio.get_running_loop().call_later(0.3, fleet.cancel)
            await fleet.publish("policy", 0)
        else:
            with pytest.raises(JobFailure, match="vLLM ended while it was starting") as failure:
                await fleet.publish("policy", 0)
            assert failure.value.code == "vllm_start_failed"
            assert "no such model" in failure.value.traceback  # type: ignore[attr-defined]
        assert not any(Path(f"/proc/{server.pid}/task").exists() for server in servers)
        await fleet.close()

    asyncio.run(start())
    assert not any(server.adapters.parent.exists() for server in servers)


def test_cancel_keeps_what_there_is_and_the_next_requests_are_answered() -> None:
    async def test(bench: Bench) -> None:
        for server in bench.servers:
            server.stub.gate.clear()

        async def collect() -> list[Generated]:
            return [answer async for answer in bench.fleet.generate(ask(12))]

        answering = asyncio.create_task(collect())
        await until(lambda: all(server.stub.rows == 8 for server in bench.servers))
        await asyncio.sleep(0.05)
        threading.Thread(target=bench.fleet.cancel).start()
        answers = await asyncio.wait_for(answering, 5)
        samples = [sample for answer in answers for sample in answer.samples]
        assert len(answers) == 12 and {sample.finish_reason for sample in samples} == {"cancelled"}
        assert sum(len(sample.token_ids) == 1 for sample in samples) == 16, "those that ran have a token"
        for server in bench.servers:
            server.stub.gate.set()
        await until(lambda: not any(server.stub.rows for server in bench.servers))
        assert await bench.generate(ask(12)) == await expected(ask(12))

    with_fleet(2, test)


def test_a_cancelled_start_ends() -> None:
    async def test() -> None:
        bench = Bench([StubServer("server 1"), StubServer("server 2")])
        bench.fleet.cancel()
        assert [server.stopped() for server in bench.servers] == [True, True]
        answers = [answer async for answer in bench.fleet.generate(ask(2, policy=None))]
        assert {sample.finish_reason for answer in answers for sample in answer.samples} == {"cancelled"}
        assert [server.stopped() for server in bench.servers] == [False, False]
        await bench.fleet.close()

    asyncio.run(test())


def test_a_cancelled_job_does_not_wait_for_restarts() -> None:
    async def test(bench: Bench) -> None:
        for server in bench.servers:
            server.restarting.clear()
            server.stub.kill()
        publishing = asyncio.create_task(bench.fleet.publish("policy", 2))
        await until(lambda: not bench.fleet.live)
        assert not publishing.done()
        bench.fleet.cancel()
        await asyncio.wait_for(publishing, 5)
        answers = [answer async for answer in bench.fleet.generate(ask(2, version=2))]
        assert {answer.samples[0].finish_reason for answer in answers} == {"cancelled"}

    with_fleet(2, test)


def test_turns_of_a_conversation_stay_on_their_server() -> None:
    """Also while the other server, which would be the next one, has nothing to do."""

    async def test(bench: Bench) -> None:
        queue, turns = RequestQueue(ask(2, n=1)), {0: 1, 1: 1}
        async for answer in bench.fleet.generate_from(queue):
            request = answer.request
            if request.tag == 1 and turns[1] < 4:
                turns[1] += 1
                longer = (*request.prompt_ids, *answer.samples[0].token_ids)
                queue.add(replace(request, prompt_ids=longer))
            elif request.tag == 1:
                queue.close()
        one, two = (server.stub.prompts for server in bench.servers)
        assert [prompt[2] for prompt in one] == [0] and [prompt[2] for prompt in two] == [1] * 4

    with_fleet(2, test)


def test_an_abandoned_sampling_ends_its_requests() -> None:
    async def test(bench: Bench) -> None:
        bench.servers[0].stub.gate.clear()
        answers = bench.fleet.generate(ask(4))
        await anext(answers)
        await asyncio.wait_for(answers.aclose(), 5)
        bench.servers[0].stub.gate.set()
        await until(lambda: not any(server.stub.rows for server in bench.servers))
        assert len(await bench.generate(ask(4))) == 4

    with_fleet(2, test)
