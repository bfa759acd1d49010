"""Parts of the vLLM engine that need no server."""

import asyncio
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from reinforge.spec import JobSpec
from worker.machine.settings import SAMPLER_DEVICES, VLLM_DEVICES, VLLM_SLEEP, vllm_devices, vllm_groups
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm import probe
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.api import Api, completion
from worker.rollout.vllm.options import (
    Options,
    allowed_rank,
    configured_sleep,
)
from worker.rollout.vllm.process import _environment
from worker.rollout.vllm.server import VllmServer
from worker.rollout.vllm.sizing import Sleep


def spec(**changes: object) -> JobSpec:
    raw: dict[str, object] = {
        "model": "tiny",
        "data": {"dataset": "rows.jsonl"},
        "rewards": [{"type": "python", "name": "r", "source": "def grade(sample, item): ..."}],
        "rollout": {"engine": "vllm"},
    }
    return JobSpec.model_validate(raw | changes)


def request(**changes: object) -> GenerateRequest:
    fields = {"policy": "policy", "version": 1, "prompt_ids": (5, 6), "n": 4, "tag": 0}
    sampling = Sampling(max_tokens=8, temperature=1.0, stop_ids=(1,))
    noise = NoiseKey(7, Stream.TRAIN, 3, 2)
    return GenerateRequest(**{"sampling": sampling, "noise": noise, **fields, **changes})  # type: ignore[arg-type]


def test_the_sampler_is_corrected_for_unless_the_job_says_otherwise() -> None:
    loss = spec().resolved().algorithm.loss
    assert loss.mismatch.model_dump() == {
        "type": "importance",
        "mode": "token_truncate",
        "ratio_max": 2.0,
        "ratio_min": None,
    }
    off = spec(algorithm={"loss": {"mismatch": {"type": "none"}}}).resolved()
    assert off.algorithm.loss.mismatch.type == "none" == off.resolved().algorithm.loss.mismatch.type
    trl = spec(algorithm={"preset": "trl_default"}).resolved().algorithm.loss.mismatch
    assert trl.type == "importance" and trl.mode == "sequence_mask"
    own = spec(algorithm={"loss": {"surrogate": {"type": "drpo"}}}).resolved()
    assert own.algorithm.loss.mismatch.type == "none"  # it compares with the sampler itself
    assert spec(rollout={"engine": "transformers"}).resolved().algorithm.loss.mismatch.type == "none"


def test_top_p_is_refused_where_it_is() -> None:
    with pytest.raises(ValidationError) as caught:
        spec(rollout={"engine": "vllm", "top_p": 0.9})
    [error] = caught.value.errors()
    assert error["ctx"]["param"] == "rollout.top_p"
    auto = spec(rollout={"engine": "auto"}).resolved(engine="vllm")
    assert (auto.rollout.engine, auto.algorithm.loss.mismatch.type) == ("vllm", "importance")
    assert auto.resolved(engine="transformers") == auto, "what is resolved stays"
    truncated = spec(rollout={"engine": "auto", "top_p": 0.9}).resolved(engine="vllm")
    assert truncated.rollout.engine == "transformers"


@pytest.mark.parametrize(("rank", "allowed"), [(1, 1), (2, 8), (16, 16), (17, 32), (300, 320), (512, 512)])
def test_the_rank_is_rounded_up_to_one_that_vllm_takes(rank: int, allowed: int) -> None:
    assert allowed_rank(rank) == allowed


def test_versions_in_use_stay_and_folders_go_one_sync_later(tmp_path: Path) -> None:
    adapters = Adapters(tmp_path, staleness=1)
    left = []
    for version in range(4):
        new = adapters.new("policy", version, None)
        new.folder.mkdir()
        left.append([old.version for old in adapters.add(new)])
    assert left == [[], [], [0], [1]]
    assert [adapter.version for adapter in adapters.held] == [2, 3]
    assert sorted(folder.name[:8] for folder in tmp_path.iterdir()) == ["policy-1", "policy-2", "policy-3"]
    assert adapters.name(request(version=2)) != adapters.name(request(version=3))
    with pytest.raises(ValueError, match="requested policy version 1, but the engine has 2, 3"):
        adapters.name(request(version=1))
    assert adapters.name(request(policy=None)) == "base"


def test_a_version_that_is_published_again_is_another_adapter(tmp_path: Path) -> None:
    """After going back: the same number, other weights."""
    adapters = Adapters(tmp_path)
    first, second = adapters.new("policy", 1, None), adapters.new("policy", 1, None)
    adapters.add(first)
    assert first.name != second.name and adapters.add(second) == [first]
    assert adapters.name(request()) == second.name


def test_requests_ask_for_nothing_that_the_job_did_not() -> None:
    body = completion("x", request())
    assert body["seed"] >= 0 and body["seed"] + 1000 < 2**63
    other = completion("x", request(noise=NoiseKey(7, Stream.TRAIN, 3, 3)))
    assert other["seed"] != body["seed"] == completion("y", request())["seed"]
    assert (body["n"], completion("x", request(sampling=Sampling(8, 0.0)))["n"]) == (4, 1)
    assert body["ignore_eos"] and body["stop_token_ids"] == [1]


def test_a_server_has_the_trainers_precision_and_room_for_every_version(tmp_path: Path) -> None:
    options = Options(
        tmp_path, "float32", "cpu", max_model_len=64, rank=9, loras=2, held=5, cache_bytes=3 << 30
    )
    words = options.arguments(tmp_path / "s")
    flags = dict(itertools.pairwise(words))
    assert flags["--dtype"] == "float32" and flags["--max-lora-rank"] == "16"
    assert (flags["--max-loras"], flags["--max-cpu-loras"]) == ("2", "5")
    assert flags["--logprobs-mode"] == "processed_logprobs" and "--enforce-eager" in words
    assert options.environment()["VLLM_CPU_KVCACHE_SPACE"] == "3"


@pytest.mark.parametrize(("longest", "tokens"), [(64, 2048), (4096, 4096 + 128)])
def test_prompts_are_read_whole_on_the_cpu(tmp_path: Path, longest: int, tokens: int) -> None:
    words = Options(tmp_path, "float32", "cpu", max_model_len=longest, rank=8).arguments(tmp_path / "s")
    assert "--no-enable-chunked-prefill" in words
    assert dict(itertools.pairwise(words))["--max-num-batched-tokens"] == str(tokens)
    gpu = Options(tmp_path, "bfloat16", "cuda", max_model_len=longest, rank=8).arguments(tmp_path / "s")
    assert "--no-enable-chunked-prefill" not in gpu


def test_a_gpu_is_taken_by_bytes_and_not_by_a_share(tmp_path: Path) -> None:
    options = Options(
        tmp_path, "bfloat16", "cuda", 64, rank=8, cache_bytes=5 << 30, sequences=96, share=0.3123
    )
    words = options.arguments(tmp_path / "s")
    flags = dict(itertools.pairwise(words))
    assert flags["--kv-cache-memory-bytes"] == str(5 << 30)
    assert (flags["--gpu-memory-utilization"], flags["--max-num-seqs"]) == ("0.312", "96")
    assert json.loads(flags["--hf-overrides"]) == {"head_dtype": "float32"}  # as the trainer's head
    assert "--tensor-parallel-size" not in words and "--enable-mixed-moe-lora-format" not in words
    words = replace(options, gpu_memory=0.55).arguments(tmp_path / "s")
    assert dict(itertools.pairwise(words))["--gpu-memory-utilization"] == "0.55"
    assert "--kv-cache-memory-bytes" not in words


def test_several_gpus_and_experts_have_words_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VLLM_DEVICES, "2,3")
    assert vllm_devices() == ["2", "3"] and vllm_groups() == ["2,3"]
    monkeypatch.setenv(SAMPLER_DEVICES, "4;5")
    assert vllm_groups() == ["2,3"], "a worker's choice for its trainer"
    monkeypatch.setenv(VLLM_DEVICES, "")
    assert vllm_groups() == [""] and vllm_devices() == [], "the trainer's own GPU"
    monkeypatch.delenv(VLLM_DEVICES)
    assert vllm_groups() == ["4", "5"] and vllm_devices() == ["4"]
    options = Options(
        tmp_path, "bfloat16", "cuda", 64, rank=8, tensor_parallel=2, fused_experts=True, devices=("2", "3")
    )
    words = options.arguments(tmp_path / "s")
    assert dict(itertools.pairwise(words))["--tensor-parallel-size"] == "2"
    assert "--enable-mixed-moe-lora-format" in words
    environment = options.environment()
    assert environment["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"  # the numbers of nvidia-smi


@pytest.mark.parametrize(
    ("setting", "expected"), [(None, None), ("off", "no"), ("cache", "cache"), ("on", "weights"), ("?", None)]
)
def test_the_workers_owner_says_how_deep_it_sleeps(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, expected: str | None
) -> None:
    monkeypatch.delenv(VLLM_SLEEP, raising=False)
    if setting is not None:
        monkeypatch.setenv(VLLM_SLEEP, setting)
    assert configured_sleep() == expected


@pytest.mark.parametrize("sleeps", ["no", "cache", "weights"])
def test_only_a_server_that_may_sleep_has_sleep_mode(tmp_path: Path, sleeps: Sleep) -> None:
    options = Options(tmp_path, "bfloat16", "cuda", max_model_len=64, rank=8, sleeps=sleeps)
    assert ("--enable-sleep-mode" in options.arguments(tmp_path / "s")) is (sleeps != "no")
    assert ("VLLM_SERVER_DEV_MODE" in options.environment()) is (sleeps != "no")


class Answers:
    """A server that answers every request, but for those it does not know; it notes what it is asked."""

    def __init__(self, *unknown: str) -> None:
        self.unknown, self.requests = unknown, list[str]()
        self.bodies: list[Any] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        self.requests.append(path)
        self.bodies.append(json.loads(request.content) if request.content else None)
        if path in self.unknown:
            return httpx.Response(404, json={"error": {"message": "Not Found"}})
        return httpx.Response(200, json={"status": "awake"})


def server(folder: Path, sleeps: Sleep, answers: Answers, messages: list[str]) -> VllmServer:
    """One whose process has started."""
    options = Options(folder, "bfloat16", "cuda", max_model_len=64, rank=8, sleeps=sleeps)
    made = VllmServer(
        Path("python"), options, None, notify=messages.append, make_room=lambda: messages.append("room")
    )
    made.api = Api(folder / "s")
    made.api._client = httpx.AsyncClient(transport=httpx.MockTransport(answers), base_url="http://vllm")
    return made


async def sleep_and_wake(server: VllmServer, times: int = 1) -> None:
    for _ in range(times):
        await server.rest()
        await server.rest()  # asleep already
        await server.awake()
        await server.awake()
    await server.close()


@pytest.mark.parametrize(
    ("sleeps", "requests"),
    [
        ("no", []),
        ("cache", ["/sleep?level=0", "/release_kv_cache_memory", "/wake_up?tags=kv_cache"]),
        ("weights", ["/sleep?level=1", "/wake_up"]),
    ],
)
def test_a_server_gives_back_what_it_is_to(tmp_path: Path, sleeps: Sleep, requests: list[str]) -> None:
    answers, messages = Answers(), list[str]()
    asyncio.run(sleep_and_wake(server(tmp_path, sleeps, answers, messages)))
    assert answers.requests == requests
    assert messages == ([] if sleeps == "no" else ["room"])


def test_a_vllm_that_cannot_release_its_cache_alone_sleeps_whole(tmp_path: Path) -> None:
    answers, messages = Answers("/release_kv_cache_memory"), list[str]()
    asyncio.run(sleep_and_wake(server(tmp_path, "cache", answers, messages), times=2))
    whole = ["/sleep?level=1", "/wake_up"]
    assert answers.requests == ["/sleep?level=0", "/release_kv_cache_memory", *whole, *whole]
    assert messages[0].startswith("vLLM cannot give its cache back alone") and messages[1:] == [
        "room",
        "room",
    ]


@pytest.mark.parametrize("parameters", [["mlp.experts.gate_up_proj", "mlp.experts.down_proj"], None])
def test_adapters_on_experts_are_announced_as_what_they_are(
    tmp_path: Path, parameters: list[str] | None
) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 8, "target_parameters": parameters}))
    answers = Answers()

    async def load() -> None:
        made = server(tmp_path, "no", answers, [])
        assert made.api is not None
        await made.api.load("policy-1-1", tmp_path)
        await made.close()

    asyncio.run(load())
    assert answers.bodies == [
        {"lora_name": "policy-1-1", "lora_path": str(tmp_path)}
        | ({"is_3d_lora_weight": True} if parameters else {})
    ]


def test_settings_of_the_trainers_allocator_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    assert "PYTORCH_CUDA_ALLOC_CONF" not in _environment()


@pytest.mark.parametrize(
    ("prompt", "most", "probed"),
    [
        ((5, 6), 16, (2, 15)),
        ((5, 6), 500, (2, 32)),
        ((5, 6), 1, (1, 1)),
        ((5,), 2, (1, 1)),
        ((5,), 1, (1, 1)),
    ],
)
def test_a_probe_leaves_room_for_the_token_that_scoring_generates(
    prompt: tuple[int, ...], most: int, probed: tuple[int, int]
) -> None:
    request = GenerateRequest("policy", 0, prompt, 4, Sampling(most, 1.0), NoiseKey(0, Stream.TRAIN, 0, 0), 0)
    short = probe._short(request)
    assert (len(short.prompt_ids), short.sampling.max_tokens, short.n) == (*probed, 1)
    assert sum(probed) + 1 <= max(3, len(prompt) + most)  # the server's `max_model_len`
