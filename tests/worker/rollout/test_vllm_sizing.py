"""How much of a GPU vLLM gets: real models on real cards, by arithmetic alone."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig

from reinforge.errors import JobFailure
from worker.machine.gpus import VISIBLE, Gpu, visible
from worker.rollout.vllm.demand import (
    BUSY_TOKENS,
    fused_experts,
    job_demand,
    memory_of,
    served_demand,
)
from worker.rollout.vllm.model_shape import TransformerShape, model_shape
from worker.rollout.vllm.sizing import RESERVE_BYTES, Sizes, batch_limits, served_sizes, sizes

GIB = 2**30
H100, H200, SMALL = int(79.6 * GIB), 140 * GIB, 24 * GIB
_QWEN = {"0.5B": (24, 896, 4864, 14, 2), "1.5B": (28, 1536, 8960, 12, 2), "7B": (28, 3584, 18944, 28, 4)}
_QWEN |= {"14B": (48, 5120, 13824, 40, 8), "32B": (64, 5120, 27648, 40, 8)}
BILLIONS = {"0.5B": 0.494, "1.5B": 1.544, "7B": 7.616, "14B": 14.77, "32B": 32.76}


def shape(name: str) -> TransformerShape:
    """Of Qwen 2.5."""
    layers, hidden, intermediate, heads, key_heads = _QWEN[name]
    config = AutoConfig.for_model(
        "qwen2",
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        vocab_size=151936,
    )
    return model_shape(config)


def weights(name: str) -> int:
    return int(2e9 * BILLIONS[name])


def job(
    name: str,
    total: int,
    *,
    rows: int = 512,
    longest: int = 1024,
    sleeps: Any = None,
    host_free: int | None = None,
    **changes: Any,
) -> Sizes:
    """Beside a trainer that has loaded the model; on a GPU of its own with shared=False."""
    taken = weights(name) if changes.get("shared", True) else 0
    demand = job_demand(
        shape(name),
        weights=weights(name),
        longest=longest,
        rows=rows,
        rank=16,
        gpu_total=total,
        **changes,
    )
    return sizes(total - GIB // 2 - taken, total, demand, sleeps=sleeps, host_free=host_free)


@pytest.mark.parametrize(("name", "counted_mib"), [("0.5B", 1.23), ("1.5B", 2.60), ("7B", 5.64)])
def test_what_a_training_pass_keeps_is_what_was_counted(name: str, counted_mib: float) -> None:
    assert shape(name).activation_token / 2**20 == pytest.approx(counted_mib, rel=0.02)


@pytest.mark.parametrize(
    ("name", "total", "sleeps"),
    [
        ("0.5B", H100, "no"),
        ("1.5B", H100, "no"),
        ("7B", H200, "no"),
        ("7B", H100, "cache"),
        ("14B", H200, "cache"),
        ("14B", H100, "cache"),
        ("32B", H200, "weights"),
        ("1.5B", SMALL, "cache"),
    ],
)
def test_it_sleeps_no_deeper_than_the_update_needs(name: str, total: int, sleeps: str) -> None:
    sizes = job(name, total)
    assert sizes.sleeps == sleeps
    # What vLLM holds while it samples is free beside the trainer's weights, and is what it asks for.
    assert sizes.share * total <= total - GIB // 2 - weights(name) - RESERVE_BYTES
    assert sizes.kv_bytes + weights(name) < sizes.share * total + 0.001 * total


def test_the_cache_has_room_for_every_row_and_no_more() -> None:
    token = 2 * 28 * 2 * 128 * 2
    assert shape("1.5B").kv_token() == token
    assert job("1.5B", H100).kv_bytes == 512 * 1024 * token + 32 * token
    assert job("1.5B", H100, longest=1001).kv_bytes == 512 * 1008 * token + 32 * token  # whole blocks
    assert job("1.5B", H100, rows=8).kv_bytes == 8 * 1024 * token + 32 * token
    assert job("1.5B", H100, rows=8).max_num_seqs == 8
    assert job("1.5B", H100, rows=4096).max_num_seqs == batch_limits(H100)[1] == 1024


def test_a_server_that_cannot_hold_all_rows_holds_what_fits() -> None:
    sizes = job("14B", H100, longest=8192)
    row = 8192 * shape("14B").kv_token()
    assert row < sizes.kv_bytes < 512 * row
    assert sizes.max_num_seqs == 2 * (sizes.kv_bytes // row) > 1


def test_the_model_gets_no_more_context_than_the_job_needs() -> None:
    """One completion of the whole context of Llama 3.1 8B would take 16 GiB."""
    config = AutoConfig.for_model(
        "llama",
        num_hidden_layers=32,
        hidden_size=4096,
        intermediate_size=14336,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128256,
        max_position_embeddings=131072,
    )
    llama = model_shape(config)
    assert llama.kv_token() * 131072 == 16 * GIB
    demand = job_demand(llama, weights=16 * 10**9, longest=700, rows=64, rank=16, gpu_total=H100)
    assert sizes(H100 - 16 * 10**9, H100, demand).max_model_len == 700


def test_a_gpu_of_its_own_is_used_and_never_left_asleep() -> None:
    sizes = job("7B", H100, shared=False, longest=8192)
    assert sizes.sleeps == "no" and sizes.share > 0.9
    halves = job("7B", H100, shared=False, gpus=2)
    assert halves.kv_bytes == job("7B", H100, shared=False).kv_bytes // 2  # per GPU


@pytest.mark.parametrize(("name", "total"), [("32B", H100), ("7B", SMALL)])
def test_a_model_that_does_not_fit_is_refused_with_what_is_missing(name: str, total: int) -> None:
    with pytest.raises(JobFailure, match=r"vLLM needs [\d.]+ GiB of the GPU, and") as caught:
        job(name, total)
    assert (caught.value.code, caught.value.retryable) == ("gpu_memory_short", True)


@pytest.mark.parametrize("sleeps", ["no", "cache", "weights"])
def test_the_workers_owner_decides_otherwise(sleeps: str) -> None:
    sizes = job("7B", H100, sleeps=sleeps)
    assert sizes.sleeps == sleeps
    if sleeps == "no":  # the trainer gets half of what there is to share
        assert sizes.kv_bytes < job("7B", H100, sleeps="cache").kv_bytes


def test_weights_move_only_where_the_machine_has_room_for_them() -> None:
    """14B asleep is 29.5 GB of pinned memory."""
    assert job("14B", H200, longest=8192, rows=64, host_free=64 * GIB).sleeps == "weights"
    assert job("14B", H200, longest=8192, rows=64, host_free=20 * GIB).sleeps == "cache"
    with pytest.raises(JobFailure, match=r"have to leave the GPU .* has 20\.0 GiB") as caught:
        job("32B", H200, longest=12288, rows=64, host_free=20 * GIB)
    assert caught.value.code == "gpu_memory_short"


def test_a_row_that_needs_the_weights_place_gets_it() -> None:
    """Where that spares computing layers twice; where it does not, the weights stay."""
    assert job("7B", H100, longest=6144, rows=64).sleeps == "weights"
    assert job("7B", H100, longest=32768, rows=16).sleeps == "cache"


def test_a_micro_batch_of_the_trainer_is_as_large_as_the_job() -> None:
    def batch_bytes(rows: int, longest: int) -> int:
        demand = job_demand(shape("1.5B"), weights=1, longest=longest, rows=rows, rank=8, gpu_total=H100)
        return demand.activations

    assert (
        batch_bytes(4, 100)
        < batch_bytes(64, 1024)
        == batch_bytes(64, BUSY_TOKENS)
        < batch_bytes(1, 2 * BUSY_TOKENS)
    )


@pytest.mark.parametrize("context", [4096, 32768, 131072])
def test_a_server_on_demand_leaves_room_for_jobs(context: int) -> None:
    free = H100 // 2
    demand = served_demand(
        shape("7B"), weights=weights("7B"), context=context, rows=1024, rank=16, loras=4, gpu_total=H100
    )
    sizes = served_sizes(free, H100, demand)
    rest = free - RESERVE_BYTES - demand.weights - demand.working
    assert sizes.max_model_len * demand.kv_token <= sizes.kv_bytes <= rest // 2
    assert sizes.max_model_len == context or context == 131072
    assert sizes.share * H100 <= free and sizes.sleeps == "no"


def test_a_server_on_demand_without_room_says_so() -> None:
    demand = served_demand(
        shape("7B"), weights=weights("7B"), context=32768, rows=1024, rank=16, loras=4, gpu_total=H100
    )
    with pytest.raises(JobFailure) as caught:
        served_sizes(20 * GIB, H100, demand)
    assert caught.value.code == "gpu_memory_short"


def test_latent_attention_keeps_little() -> None:
    deepseek = model_shape(AutoConfig.for_model("deepseek_v3"))
    assert deepseek.kv_token() == 61 * (512 + 64) * 2
    assert deepseek.experts == 256 and deepseek.expert_intermediate == 2048


def test_experts_with_adapters_have_a_format_of_their_own() -> None:
    experts = model_shape(AutoConfig.for_model("qwen3_moe"))
    assert experts.experts == 128
    assert fused_experts(experts, ["mlp.experts.gate_up_proj"])
    assert not fused_experts(experts, []) and not fused_experts(experts, None)
    assert not fused_experts(shape("7B"), ["mlp.experts.gate_up_proj"])


@pytest.mark.parametrize("name", ["gpt2", "mamba", "gemma3", "qwen3_moe", "gpt_oss", "llama4"])
def test_every_configuration_has_a_shape(name: str) -> None:
    shape_of_model = model_shape(AutoConfig.for_model(name))
    assert (
        min(
            shape_of_model.layers,
            shape_of_model.hidden,
            shape_of_model.intermediate,
            shape_of_model.vocabulary,
            shape_of_model.kv_token(),
        )
        > 0
    )


def test_memory_of_gpus_is_that_of_the_fullest(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = [Gpu("0", "GPU-a", total=80, free=8), Gpu("2", "GPU-c", total=80, free=70), Gpu("3", "GPU-d")]

    def listed(visible_devices: str | None = None) -> list[Gpu]:
        return visible(cards, os.environ.get(VISIBLE) if visible_devices is None else visible_devices)

    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setattr("worker.rollout.vllm.demand.list_gpus", listed)
    assert memory_of([]) == (8, 80)
    assert memory_of(["2"]) == (70, 80) and memory_of(["2", "0"]) == (8, 80)
    assert memory_of(["2", "3"]) == memory_of(["2", "7"]) == (0, 0)  # nobody says
    monkeypatch.setenv(VISIBLE, "2")
    assert memory_of([]) == (70, 80) and memory_of(["0"]) == (8, 80)


def test_a_served_model_knows_its_sizes(tmp_path: Path) -> None:
    from safetensors.torch import save_file
    from torch import zeros

    from worker.serving.vllm_model import ServedModel, on_gpu

    save_file({"a": zeros(1000, 500)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({}))
    plain = ServedModel(tmp_path, None, (1,), 151936, 32768, None, "cuda")
    sizes = on_gpu(plain, shape("0.5B"), SMALL, SMALL, rank=16, together=4)
    words = sizes.options(rank=16, adapters=8, together=4, threads=1).arguments(tmp_path / "s")
    assert "--kv-cache-memory-bytes" in words and sizes.context == 32768
    unknown = on_gpu(plain, shape("0.5B"), 0, 0, rank=16, together=4)
    words = unknown.options(rank=16, adapters=8, together=4, threads=1).arguments(tmp_path / "s")
    assert "--kv-cache-memory-bytes" not in words and unknown.context == 8192
