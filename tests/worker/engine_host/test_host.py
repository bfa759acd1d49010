"""An engine host over HTTP: leases, adapters, turns, failures."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from reinforge.errors import JobFailure
from tests.support.shared_hosts import (
    SHA,
    HostBench,
    adapter_files,
    lease_request,
    write_adapter,
)
from worker.engine_host.client.hosted_server import HostedServer
from worker.engine_host.protocol import LocalProcess
from worker.rollout.engine import Generated, GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm.engine import VllmEngine


@pytest.fixture
def bench() -> Iterator[HostBench]:
    bench = HostBench()
    yield bench
    bench.close()


@pytest.fixture
def client(bench: HostBench) -> Iterator[httpx.Client]:
    with bench.address.client() as client:
        yield client


def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def open_lease(client: httpx.Client, /, **fields: Any) -> str:
    answer = client.post("/v1/leases", json=lease_request(**fields).model_dump())
    assert answer.status_code == 201, answer.text
    until(lambda: client.get("/v1/host").json()["state"] == "ready")
    return str(answer.json()["lease"])


def put(
    client: httpx.Client, lease: str, name: str, config: bytes, weights: bytes, /, **query: Any
) -> httpx.Response:
    return client.put(
        f"/v1/leases/{lease}/adapters/{name}",
        params={"config": len(config)} | query,
        content=config + weights,
    )


def stored(bench: HostBench) -> list[str]:
    return sorted(path.name for path in bench.adapters.iterdir())


def engine(bench: HostBench, messages: list[str] | None = None) -> VllmEngine:
    log = messages if messages is not None else []
    return VllmEngine(
        HostedServer(bench, notify=log.append), lambda _, folder: write_adapter(folder) and None
    )


def request(policy: str | None = "policy", version: int = 1) -> GenerateRequest:
    sampling, noise = Sampling(max_tokens=4, temperature=1.0), NoiseKey(1, Stream.TRAIN, 1, 0)
    return GenerateRequest(policy, version, (1, 2), 1, sampling, noise, tag=0)


async def generate(engine: VllmEngine, *requests: GenerateRequest) -> list[Generated]:
    return [answer async for answer in engine.generate(requests)]


def made_by(answers: list[Generated]) -> set[int]:
    return {token for answer in answers for sample in answer.samples for token in sample.token_ids}


def test_two_owners_of_the_same_policy_and_version_do_not_collide(bench: HostBench) -> None:
    async def both() -> tuple[set[int], set[int], set[int]]:
        first, second = engine(bench), engine(bench)
        try:
            await asyncio.gather(first.publish("policy", 1), second.publish("policy", 1))
            answers = await asyncio.gather(generate(first, request()), generate(second, request()))
            base = await generate(first, request(policy=None))
            return made_by(answers[0]), made_by(answers[1]), made_by(base)
        finally:
            await first.close()
            await second.close()

    first, second, base = asyncio.run(both())
    assert first | second == {1, 2} and first != second and base == {0}
    assert len(bench.stubs) == 1
    until(lambda: not bench.stub.loaded and not stored(bench))


def test_a_crash_is_survived_with_all_adapters(bench: HostBench) -> None:
    messages: list[str] = []

    async def through_a_crash() -> set[int]:
        sampler, other = engine(bench, messages), engine(bench)
        try:
            await sampler.publish("policy", 1)
            await other.publish("policy", 1)
            bench.stub.dies = True
            return made_by(await generate(sampler, request()))
        finally:
            assert len(bench.stub.loaded) == 2  # the other client's, too, which noticed nothing
            await sampler.close()
            await other.close()

    assert through_a_crash_tokens(asyncio.run(through_a_crash()))
    assert len(bench.stubs) == 2 and any("waiting for the next one" in line for line in messages)


def through_a_crash_tokens(tokens: set[int]) -> bool:
    return len(tokens) == 1 and tokens <= {1, 2}


def test_a_server_that_fails_again_and_again_ends_the_job(bench: HostBench) -> None:
    async def dying() -> None:
        sampler = engine(bench)
        try:
            await sampler.publish("policy", 1)
            while True:
                bench.stub.dies = True
                with pytest.raises(JobFailure) as caught:
                    await asyncio.wait_for(forever(sampler), 20)
                raise caught.value
        finally:
            await sampler.close()

    async def forever(sampler: VllmEngine) -> None:
        while True:
            bench.stub.dies = True
            await generate(sampler, request())

    with pytest.raises(JobFailure) as caught:
        asyncio.run(dying())
    assert caught.value.code == "vllm_lost"


def test_a_start_that_fails_unexpectedly_is_an_error_too(bench: HostBench) -> None:
    bench.failure = TypeError("nonsense")

    async def publish() -> None:
        sampler = engine(bench)
        try:
            await asyncio.wait_for(sampler.publish("policy", 1), 10)
        finally:
            await sampler.close()

    with pytest.raises(JobFailure, match="nonsense"):
        asyncio.run(publish())


def test_a_start_that_fails_is_each_clients_error_and_the_next_one_tries_again(bench: HostBench) -> None:
    bench.failure = JobFailure("no memory", code="vllm_start_failed")

    async def publish() -> None:
        sampler = engine(bench)
        try:
            await sampler.publish("policy", 1)
        finally:
            await sampler.close()

    with pytest.raises(JobFailure, match="no memory") as caught:
        asyncio.run(publish())
    assert caught.value.code == "vllm_start_failed"
    bench.failure = None
    asyncio.run(publish())
    assert len(bench.stubs) == 2


def test_base_and_adapter_rows_never_share_a_batch_on_a_cpu(bench: HostBench) -> None:
    async def together() -> list[list[Generated]]:
        first, second = engine(bench), engine(bench)
        try:
            await first.publish("policy", 1)
            base = [generate(second, *[request(policy=None)] * 5) for _ in range(2)]
            return await asyncio.gather(
                generate(first, *[request()] * 5), *base, generate(first, *[request()] * 5)
            )
        finally:
            await first.close()
            await second.close()

    answers = asyncio.run(together())
    assert [made_by(one) for one in answers] == [{1}, {0}, {0}, {1}]
    assert not bench.stub.mixed


def test_on_a_gpu_they_do() -> None:
    bench = HostBench(device="cuda")
    try:
        with bench.address.client() as client:
            lease = open_lease(client)
            assert put(client, lease, "p", *adapter_files()).status_code == 200
            bench.stub.gate.clear()
            sockets = [client_in_thread(bench, lease, name) for name in ("p", "base")]
            until(lambda: len(bench.stub.running) == 2)
            bench.loop.call_soon_threadsafe(bench.stub.gate.set)
            for thread in sockets:
                thread.join()
        assert bench.stub.mixed
    finally:
        bench.close()


def client_in_thread(bench: HostBench, lease: str, model: str) -> Any:
    import threading

    def ask() -> None:
        with bench.address.client() as client:
            client.post(f"/v1/leases/{lease}/v1/completions", json={"model": model, "stream": True})

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_a_client_that_disconnects_aborts_its_request_and_frees_the_turn(
    bench: HostBench, client: httpx.Client
) -> None:
    lease = open_lease(client)
    assert put(client, lease, "p", *adapter_files()).status_code == 200
    bench.stub.gate.clear()
    path = f"/v1/leases/{lease}/v1/completions"
    for model in ("p", "base"):  # the second one waits for its turn
        with pytest.raises(httpx.ReadTimeout):
            client.post(path, json={"model": model, "stream": True}, timeout=0.2)
    until(lambda: not bench.stub.running)
    bench.loop.call_soon_threadsafe(bench.stub.gate.set)
    assert client.post(path, json={"model": "base", "stream": True}).text.endswith("data: [DONE]\n\n")


def test_a_killed_clients_adapters_go(bench: HostBench, client: httpx.Client) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = LocalProcess.of(child.pid)
    assert process is not None
    killed, other = open_lease(client, client=process), open_lease(client)
    for lease in (killed, other):
        assert put(client, lease, "p", *adapter_files()).status_code == 200
    assert len(stored(bench)) == len(bench.stub.loaded) == 2
    child.kill()
    child.communicate()
    until(lambda: len(stored(bench)) == len(bench.stub.loaded) == 1)
    assert client.put(f"/v1/leases/{killed}").status_code == 503
    assert client.put(f"/v1/leases/{other}").status_code == 204


def test_a_silent_clients_adapters_go_and_it_goes_on_with_a_new_lease() -> None:
    bench = HostBench(lease_seconds=0.3)
    try:

        async def silent_then_back() -> set[int]:
            sampler = engine(bench)
            await sampler.publish("policy", 1)
            link = sampler._server._link  # type: ignore[attr-defined]
            link._ending.set()  # no more heartbeats
            while bench.stub.loaded:
                await asyncio.sleep(0.02)
            try:
                return made_by(await generate(sampler, request()))
            finally:
                await sampler.close()

        assert asyncio.run(silent_then_back()) == {2}
        assert len(bench.stubs) == 1
    finally:
        bench.close()


def test_a_lease_lasts_while_its_client_is_there() -> None:
    bench = HostBench(lease_seconds=0.4)
    try:

        async def idle() -> set[int]:
            sampler = engine(bench)
            await sampler.publish("policy", 1)
            time.sleep(1.2)
            try:
                return made_by(await generate(sampler, request()))
            finally:
                await sampler.close()

        assert asyncio.run(idle()) == {1}
    finally:
        bench.close()


@pytest.mark.parametrize(
    "fields, code, param",
    [
        ({"model_sha256": "b" * 64}, "sampler_host_mismatch", "model"),
        ({"protocol": 99}, "sampler_host_mismatch", "protocol"),
        ({"dtype": "bfloat16"}, "sampler_host_mismatch", "dtype"),
        ({"longest": 65}, "sampler_host_too_small", "longest"),
        ({"rank": 9}, "sampler_host_too_small", "rank"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(
    bench: HostBench, client: httpx.Client, fields: dict[str, Any], code: str, param: str
) -> None:
    answer = client.post("/v1/leases", json=lease_request(**fields).model_dump())
    assert answer.status_code == 409
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (code, param)
    assert not bench.stubs and client.get("/v1/host").json()["leases"] == 0


CONFIG, WEIGHTS = adapter_files()
RUBBISH = {
    "no JSON": (b"{" * 20, WEIGHTS),
    "deep JSON": (b"[" * 100_000, WEIGHTS),
    "no rank": (b'{"peft_type": "LORA"}', WEIGHTS),
    "rank above the host's": (adapter_files(rank=64)[0], WEIGHTS),
    "rank pattern above the host's": (b'{"r": 1, "rank_pattern": {"x": 64}}', WEIGHTS),
    "no weights": (CONFIG, b""),
    "cut weights": (CONFIG, WEIGHTS[:-1]),
    "more than the weights": (CONFIG, WEIGHTS + b"x"),
    "an endless header": (CONFIG, b"\xff" * 100),
    "a pickle": (CONFIG, b"\x80\x04cposix\nsystem\n"),
    "too much": (CONFIG, b"x" * 100_001),
}  # fmt: skip


@pytest.mark.parametrize("what", RUBBISH)
def test_rubbish_is_refused_and_leaves_nothing(bench: HostBench, client: httpx.Client, what: str) -> None:
    lease = open_lease(client)
    answer = put(client, lease, "p", *RUBBISH[what])
    assert 400 <= answer.status_code < 500 and answer.json()["error"]["message"]
    assert stored(bench) == [] and bench.stub.ever == []
    assert client.get(f"/v1/leases/{lease}/v1/models").json()["data"] == [{"id": "base"}]


@pytest.mark.parametrize("size", [-1, 0, 1, 10**9, "x"])
def test_an_impossible_size_of_the_configuration_is_refused(
    bench: HostBench, client: httpx.Client, size: Any
) -> None:
    answer = put(client, open_lease(client), "p", CONFIG, WEIGHTS, config=size)
    assert answer.status_code == 422 and stored(bench) == []


@pytest.mark.parametrize(
    "name", ["..%2f..%2fx", "%2e%2e", ".hidden", "a%2fb", "a%00b", "%0a", "x" * 201, "a b", "ä"]
)
def test_names_stay_in_the_hosts_folder(bench: HostBench, client: httpx.Client, name: str) -> None:
    answer = put(client, open_lease(client), name, CONFIG, WEIGHTS)
    assert answer.status_code in (404, 405, 422)
    assert stored(bench) == [] and bench.stub.ever == []


def test_an_adapter_that_vllm_refuses_leaves_nothing(bench: HostBench, client: httpx.Client) -> None:
    lease = open_lease(client)
    bench.stub.refused.add("odd")
    answer = put(client, lease, "odd", CONFIG, WEIGHTS)
    assert answer.status_code == 422 and answer.json()["error"]["code"] == "adapter_refused"
    assert stored(bench) == []


def test_an_upload_that_breaks_off_leaves_nothing(bench: HostBench, client: httpx.Client) -> None:
    lease = open_lease(client)

    def broken() -> Iterator[bytes]:
        yield CONFIG
        raise OSError("the network is gone")

    with pytest.raises(OSError):
        client.put(f"/v1/leases/{lease}/adapters/p", params={"config": len(CONFIG)}, content=broken())
    until(lambda: stored(bench) == [])


def test_an_adapter_may_be_sent_again_but_not_another_of_its_name(
    bench: HostBench, client: httpx.Client
) -> None:
    lease = open_lease(client)
    assert [put(client, lease, "p", CONFIG, WEIGHTS).status_code for _ in range(2)] == [200, 200]
    assert put(client, lease, "p", adapter_files(rank=2)[0], WEIGHTS).status_code == 409
    assert len(stored(bench)) == len(bench.stub.ever) == 1


def test_a_lease_reaches_neither_other_leases_adapters_nor_vllms_names(
    bench: HostBench, client: httpx.Client
) -> None:
    first, second = open_lease(client), open_lease(client)
    assert put(client, first, "p", CONFIG, WEIGHTS).status_code == 200
    (full,) = bench.stub.loaded
    for name in ("p", full, None, 7):
        answer = client.post(f"/v1/leases/{second}/v1/completions", json={"model": name})
        assert answer.status_code == 404
    assert client.delete(f"/v1/leases/{second}/adapters/p").status_code == 404
    assert client.get(f"/v1/leases/{'0' * 32}/v1/models").status_code == 503


def test_the_host_restarts_a_server_that_is_silent(bench: HostBench, client: httpx.Client) -> None:
    lease = open_lease(client)
    bench.host.sampler.quiet_seconds = 0.2
    bench.stub.gate.clear()
    with pytest.raises(httpx.HTTPError):
        client.post(f"/v1/leases/{lease}/v1/completions", json={"model": "base"}).raise_for_status()
    until(lambda: client.get("/v1/host").json()["starts"] == 2)


def test_facts(bench: HostBench, client: httpx.Client) -> None:
    facts = client.get("/v1/host").json()
    assert (facts["model_sha256"], facts["vllm"], facts["max_model_len"], facts["max_rank"]) == (
        SHA,
        "0.32.0",
        64,
        8,
    )
    assert facts["pid"] == os.getpid() and facts["state"] == "stopped"


def test_a_host_over_its_socket_is_not_ended_by_others(client: httpx.Client) -> None:
    assert client.post("/v1/end").status_code == 409
