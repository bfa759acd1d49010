"""Adapters of every architecture, swapped in a real vLLM: each of two versions samples as the trainer says it would."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support import vllm_swaps
from tests.support.architectures import ARCHITECTURES, write_architecture
from worker.policy.base import Sequences
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy

pytestmark = [pytest.mark.vllm, pytest.mark.long, pytest.mark.timeout(900)]
HEAD_DIM = 32
"""The narrowest that vLLM's attention takes on the CPU."""
PROMPT = list(range(5, 25))
FUSED = "glm4"
"""transformers has one layer where vLLM looks for two, gate_proj and up_proj, in adapters too."""
TARGETS = {FUSED: ["q_proj", "k_proj", "v_proj", "o_proj", "down_proj"]}
"""Where not all linear layers."""
EXPERTS = {"qwen3_moe", "gpt_oss", "deepseek_v3"}
"""With adapters vLLM runs experts by Triton, which the CPU build does not have."""
CPU_REFUSALS = ("triton", "expect weight to be bfloat16")
"""What vLLM says about experts on a CPU. The second comes first on a CPU with AMX: latent attention in float32."""
CHANGES = {"deepseek_v3": {"kv_lora_rank": 512, "qk_rope_head_dim": 64}}
"""The only sizes that vLLM's latent attention has on the CPU."""
TOLERANCE = 1e-3
"""The probe's, in float32."""
MOVED = 0.02
"""Nats that an adapter moves some log-probability by, at least: more than TOLERANCE could hide."""


@dataclass
class Tried:
    """A model with two versions of an adapter, as the trainer has it."""

    policy: LoraPolicy
    versions: list[dict[str, torch.Tensor]]
    request: dict[str, Any]

    def scored(self, version: int | None, token_ids: list[int]) -> list[float]:
        sequences = Sequences([PROMPT], [token_ids], 1.0)
        if version is None:
            return self.policy.reference_log_probs(sequences)[0].tolist()
        with torch.no_grad():
            for key, value in self.versions[version].items():
                self.policy._parameters[key].copy_(value)
        return self.policy.log_probs(sequences).logprobs[0].tolist()


def tried(folder: Path, name: str, targets: Any) -> Tried:
    model = write_architecture(folder / "model", name, HEAD_DIM, **CHANGES.get(name, {}))
    host = LocalHost(load_base_model(model))
    policy = host.create_policy("policy", rank=4, alpha=8, targets=targets, seed=0)
    generator = torch.Generator().manual_seed(1)
    versions, adapters = [], []
    for version in (1, 2):
        with torch.no_grad():
            for key, parameter in policy._parameters.items():
                if "lora_B" in key:
                    parameter.copy_(torch.randn(parameter.shape, generator=generator))
        versions.append({key: value.detach().clone() for key, value in policy._parameters.items()})
        adapters.append(str(folder / f"adapter-{version}"))
        policy.export(Path(adapters[-1]), base_model=name)
    return Tried(policy, versions, {"model": str(model), "adapters": adapters, "prompt": PROMPT})


@pytest.fixture(scope="module")
def answers(
    python: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Tried, dict[str, Any]]]:
    """By name: what the trainer has, and what vLLM answered."""
    folder = tmp_path_factory.mktemp("swaps")
    models = {name: tried(folder / name, name, TARGETS.get(name, "all-linear")) for name in ARCHITECTURES}
    models["fused"] = tried(folder / "fused", FUSED, "all-linear")
    done = subprocess.run(
        [str(python), "-P", vllm_swaps.__file__],
        input=json.dumps({key: model.request for key, model in models.items()}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1"}
        | {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
    )
    answers = {answer["name"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    return {key: (model, answers[key]) for key, model in models.items()}


@pytest.mark.parametrize("name", [name for name in ARCHITECTURES if name not in EXPERTS])
def test_every_version_samples_from_its_own_weights(
    answers: dict[str, tuple[Tried, dict[str, Any]]], name: str
) -> None:
    model, answer = answers[name]
    for version, (token_ids, logprobs) in zip((None, 0, 1), answer["samples"], strict=True):
        assert distance(logprobs, model.scored(version, token_ids)) < TOLERANCE
        others = [version_id for version_id in (None, 0, 1) if version_id != version]
        assert all(distance(logprobs, model.scored(other, token_ids)) > MOVED for other in others)


@pytest.mark.parametrize("name", sorted(EXPERTS))
def test_experts_with_adapters_need_a_gpu(
    answers: dict[str, tuple[Tried, dict[str, Any]]], name: str
) -> None:
    error = answers[name][1]["error"]
    assert any(refusal in error for refusal in CPU_REFUSALS), error


def test_a_layer_that_vllm_knows_as_two_is_refused(answers: dict[str, tuple[Tried, dict[str, Any]]]) -> None:
    error = answers["fused"][1]["error"]
    assert "expected target modules" in error and "gate_up_proj" in error


def distance(one: list[float], other: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
