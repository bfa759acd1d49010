"""Parts of the vLLM engine that need no server."""

import itertools
from pathlib import Path

import pytest
from pydantic import ValidationError

from reinforge.spec import JobSpec
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.api import completion
from worker.rollout.vllm.options import DEVICES, SLEEP, Options, allowed_rank, sleeps


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


def test_versions_that_may_be_asked_for_stay_and_folders_go_one_sync_later(tmp_path: Path) -> None:
    adapters = Adapters(tmp_path, staleness=1)
    left = []
    for version in range(4):
        new = adapters.new("policy", version, None)
        new.folder.mkdir()
        left.append([old.version for old in adapters.add(new)])
    assert left == [[], [], [0], [1]]
    assert [each.version for each in adapters.held] == [2, 3]
    assert sorted(folder.name[:8] for folder in tmp_path.iterdir()) == ["policy-1", "policy-2", "policy-3"]
    assert adapters.name(request(version=2)) != adapters.name(request(version=3))
    with pytest.raises(ValueError, match="asked for policy version 1, the engine holds 2, 3"):
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
    told = dict(itertools.pairwise(words))
    assert told["--dtype"] == "float32" and told["--max-lora-rank"] == "16"
    assert (told["--max-loras"], told["--max-cpu-loras"]) == ("2", "5")
    assert told["--logprobs-mode"] == "processed_logprobs" and "--enforce-eager" in words
    assert options.environment()["VLLM_CPU_KVCACHE_SPACE"] == "3"


@pytest.mark.parametrize(("longest", "tokens"), [(64, 2048), (4096, 4096 + 128)])
def test_prompts_are_read_whole_on_the_cpu(tmp_path: Path, longest: int, tokens: int) -> None:
    words = Options(tmp_path, "float32", "cpu", max_model_len=longest, rank=8).arguments(tmp_path / "s")
    assert "--no-enable-chunked-prefill" in words
    assert dict(itertools.pairwise(words))["--max-num-batched-tokens"] == str(tokens)
    assert "--max-num-batched-tokens" not in Options(
        tmp_path, "bfloat16", "cuda", max_model_len=longest, rank=8
    ).arguments(tmp_path / "s")


@pytest.mark.parametrize(
    ("device", "told", "devices", "expected"),
    [
        ("cuda", None, None, True),
        ("cuda", None, "1", False),
        ("cuda", "off", None, False),
        ("cuda", "on", "0", True),
        ("cpu", None, None, False),
        ("cpu", "on", None, True),
    ],
)
def test_a_server_that_shares_the_trainers_gpu_sleeps_during_updates(
    monkeypatch: pytest.MonkeyPatch, device: str, told: str | None, devices: str | None, expected: bool
) -> None:
    for name, value in ((SLEEP, told), (DEVICES, devices)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert sleeps(device) is expected


@pytest.mark.parametrize("asleep", [True, False])
def test_only_a_server_that_is_to_sleep_can_be_told_to(tmp_path: Path, asleep: bool) -> None:
    options = Options(tmp_path, "bfloat16", "cuda", max_model_len=64, rank=8, sleeps=asleep)
    assert ("--enable-sleep-mode" in options.arguments(tmp_path / "s")) is asleep
    assert ("VLLM_SERVER_DEV_MODE" in options.environment()) is asleep
