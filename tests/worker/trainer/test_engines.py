"""Which engine samples for a job."""

import asyncio
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from reinforge.errors import JobFailure
from tests.support.small_jobs import small_spec
from tests.worker.rollout.setups import Setup, generate
from worker.machine.settings import VLLM_SLEEP
from worker.rollout.cpu.forked_engine import ForkedEngine
from worker.rollout.cpu.parallel_engines import ParallelEngines
from worker.rollout.engine import Generated
from worker.rollout.transformers_engine import TransformersEngine
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.fleet import Fleet
from worker.rollout.vllm.model_shape import model_shape
from worker.rollout.vllm.options import Options, configured_sleep
from worker.rollout.vllm.process import Stage
from worker.trainer.engines import own_engine
from worker.trainer.vllm_engine import _on_gpu, server_options, vllm_engine
from worker.trainer.vllm_servers import describe
from worker.training.prompts.lengths import continuation_room


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("cores", "prompts", "completions", "threads"),
    [(1, 16, 8, 1), (2, 2, 8, 1), (2, 1, 128, 1), (2, 16, 8, 2)],
    ids=["one core", "few rows", "one prompt", "wide"],
)
def test_one_process_samples_where_another_has_nothing_to_do(
    tmp_path: Path, cores: int, prompts: int, completions: int, threads: int
) -> None:
    setup = Setup(tmp_path, "qwen3", cores)
    torch.set_num_threads(threads)
    engine = own_engine(prompts, completions, setup.base, setup.text, setup.host, setup.policy, print)
    assert isinstance(engine, TransformersEngine)


def test_idle_cores_sample_too_and_the_samples_are_the_same(tmp_path: Path) -> None:
    setup = Setup(tmp_path, "qwen3", threads=2)
    engine = own_engine(16, 8, setup.base, setup.text, setup.host, setup.policy, print)
    assert isinstance(engine, ParallelEngines)
    try:
        asyncio.run(engine.publish("policy", 0))
        requests = setup.ask([f"prompt {number}" for number in range(16)], n=8)
        answers_of_engine, expected = generate(engine, requests), generate(setup.engine, requests)
    finally:
        asyncio.run(engine.close())
    tokens = [
        [[sample.token_ids for sample in a.samples] for a in answers]
        for answers in (answers_of_engine, expected)
    ]
    assert tokens[0] == tokens[1] and len(tokens[0]) == 16


def test_what_samples_ahead_keeps_the_published_weights_in_a_fork_and_in_its_place(tmp_path: Path) -> None:
    setup = Setup(tmp_path, "qwen3")
    ahead = setup.host.sampling_copy(setup.policy)
    engine = own_engine(2, 4, setup.base, setup.text, setup.host, setup.policy, print, ahead=ahead)
    assert isinstance(engine, ParallelEngines)
    (fork,) = engine._others
    assert isinstance(fork, ForkedEngine) and engine.processes == 1
    requests = setup.ask(["a", "b"], n=4)
    try:
        asyncio.run(engine.publish("policy", 0))
        expected = samples(generate(setup.engine, requests))
        setup.policy.load_weights({key: 2 * tensor for key, tensor in setup.policy.weights().items()})
        assert samples(generate(engine, requests)) == expected
        asyncio.run(engine.publish("policy", 0))
        later = samples(generate(setup.engine, requests))
        assert samples(generate(engine, requests)) == later != expected
        os.kill(fork.pid, signal.SIGKILL)
        assert samples(generate(engine, requests)) == later
    finally:
        asyncio.run(engine.close())


def samples(answers: list[Generated]) -> list[Any]:
    return [answer.samples for answer in answers]


def test_a_machine_that_lets_nothing_be_forked_is_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    setup, messages = Setup(tmp_path, "qwen3", threads=2), list[str]()
    monkeypatch.setattr("worker.rollout.cpu.forked_engine.os.fork", refused)
    engine = own_engine(16, 8, setup.base, setup.text, setup.host, setup.policy, messages.append)
    asyncio.run(engine.publish("policy", 0))
    assert len(generate(engine, setup.ask(["a", "b"], n=40))) == 2
    assert messages == ["Sampling with 1 processes instead of 2: [Errno 11] Resource temporarily unavailable"]


def on_a_gpu(
    setup: Setup,
    monkeypatch: pytest.MonkeyPatch,
    *,
    free: int,
    longest: int = 48,
    gpu_memory: float | None = None,
    devices: tuple[str, ...] = (),
) -> Options:
    """As a job's server gets it on a card of 24 GiB of which `free` bytes are free."""
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 24 << 30))
    plain = Options(
        Path("model"),
        "bfloat16",
        "cuda",
        max_model_len=longest,
        rank=4,
        gpu_memory=gpu_memory,
        devices=devices,
    )
    return _on_gpu(plain, setup.base, 32, configured_sleep())


def test_a_server_beside_the_trainer_gets_what_the_job_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VLLM_SLEEP, raising=False)
    setup = Setup(tmp_path, "qwen3")
    options = on_a_gpu(setup, monkeypatch, free=20 << 30)
    token = model_shape(setup.base.model.config).kv_token()
    assert options.cache_bytes == (32 * 48 + 32) * token
    assert (options.max_model_len, options.sequences, options.sleeps) == (48, 32, "no")
    assert 0 < options.share < 0.3 and not options.fused_experts and options.tensor_parallel == 1
    assert describe(options).endswith(
        "up to 32 completions at once, prompt and completion of up to 48 tokens; it keeps all of it during updates"
    )
    with pytest.raises(JobFailure) as caught:
        on_a_gpu(setup, monkeypatch, free=1 << 30)
    assert caught.value.code == "gpu_memory_short"


def test_the_workers_owner_may_give_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = on_a_gpu(Setup(tmp_path, "qwen3"), monkeypatch, free=1 << 30, gpu_memory=0.5)
    assert options.cache_bytes is None and options.sleeps == "weights"
    assert describe(options).startswith("vLLM gets 50% of the GPU's memory: up to 32")


def test_the_memory_of_the_engines_own_gpus_is_queried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = list[tuple[str, ...]]()

    def memory(devices: tuple[str, ...]) -> tuple[int, int]:
        requested.append(devices)
        return 23 << 30, 24 << 30

    monkeypatch.setattr("worker.trainer.vllm_engine.memory_of", memory)
    options = on_a_gpu(Setup(tmp_path, "qwen3"), monkeypatch, free=0, devices=("2", "3"))
    assert requested == [("2", "3")]
    assert (options.tensor_parallel, options.sleeps) == (2, "no") and options.cache_bytes
    monkeypatch.setattr("worker.trainer.vllm_engine.memory_of", lambda devices: (0, 0))  # no nvidia-smi
    options = on_a_gpu(Setup(tmp_path, "qwen3"), monkeypatch, free=0, devices=("2", "3"))
    assert (options.cache_bytes, options.share, options.sleeps) == (None, 0.9, "no")


def test_a_job_has_a_server_for_each_group_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def options(*_: Any, devices: list[str]) -> list[str]:
        return devices

    monkeypatch.setattr("worker.trainer.vllm_engine.options", options)
    monkeypatch.setenv("REINFORGE_VLLM_DEVICES", "2,3;4,5")
    base: Any = SimpleNamespace(model=SimpleNamespace(device=torch.device("cuda")))
    chosen: list[Any] = list(server_options(small_spec(), base, Path("model"), 48))
    assert chosen == [["2", "3"], ["4", "5"]]
    monkeypatch.setenv("REINFORGE_VLLM_DEVICES", "")
    assert list(server_options(small_spec(), base, Path("model"), 48)) == [[]], "on the trainer's GPU"


def test_servers_share_the_cores_of_a_worker_without_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.trainer.vllm_servers.vllm_python", lambda: Path("python"))
    setup, spec = Setup(tmp_path, "qwen3", threads=2), small_spec()
    lines, phases = list[tuple[str, str]](), list[tuple[int, int]]()
    job_reporter: Any = SimpleNamespace(
        log=lambda level, text: lines.append((level, text)),
        phase=lambda name, step, done, total: phases.append((done, total)),
    )

    def engine() -> Any:
        chosen = server_options(spec, setup.base, tmp_path, 48)
        return vllm_engine(chosen, spec, setup.base, setup.policy, None, job_reporter, tmp_path)

    monkeypatch.delenv("REINFORGE_VLLM_SERVERS", raising=False)
    alone = engine()
    assert isinstance(alone, VllmEngine)
    asyncio.run(alone.close())
    monkeypatch.setenv("REINFORGE_VLLM_SERVERS", "2")
    assert [options.threads for options in server_options(spec, setup.base, tmp_path, 48)] == [1, 1]
    fleet = engine()
    assert isinstance(fleet, Fleet)
    one, two = (member.server for member in fleet.live)
    one._progress(Stage(3, 4, "")), two._progress(Stage(1, 4, ""))
    assert phases == [(0, 4), (1, 4)], "the start is as far as the last server's"
    two._notify("Starting vLLM")
    assert lines == [("info", "vLLM server 2: Starting vLLM")]
    assert (one._log.name, two._log.name) == ("vllm.log", "vllm-2.log")
    asyncio.run(fleet.close())
    assert not one.adapters.exists() and not two.adapters.exists()


def test_a_server_is_started_for_what_the_job_can_ask_for() -> None:
    """Not for all of the model's context."""
    plain = small_spec(rollout__max_completion_tokens=100)
    assert continuation_room(plain) == 0
    repaired = small_spec(
        rollout__max_completion_tokens=100,
        algorithm__selection={"type": "guided_correction", "max_tokens": 30},
    )
    assert continuation_room(repaired) == 130
