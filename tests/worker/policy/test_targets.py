"""Layers of adapters in mixtures of experts: attention, experts where they are named, routers never."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from reinforge.errors import JobFailure
from tests.support.architectures import EXPERTS, write_architecture
from tests.support.tiny_models import write_tiny_model
from worker.models.folders import ModelFolders
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore
from worker.policy.base import Sequences
from worker.policy.forward.scoring import score
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.policy.targets import Layers, find_experts

PLAIN = {"q_proj", "k_proj", "v_proj", "o_proj"}
LATENT = {"q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"}
BESIDE = PLAIN | {"gate_proj", "up_proj", "down_proj"}
"""Gemma 4 has its experts beside a feed-forward block that all tokens go through."""
OUTSIDE = {"deepseek_v3": LATENT, "gemma4_text": BESIDE}
ROUTERS = {
    "gpt_oss": {"router"},
    "qwen2_moe": {"gate", "shared_expert_gate"},
    "phimoe": {"router"},
    "granitemoe": {"router"},
    "llama4_text": {"router"},
    "gemma4_text": {"router", "router.proj"},
}
SEQUENCES = Sequences([[5, 6, 7, 8]] * 2, [[9, 10, 11], [12, 13]], 1.0)
SHAPE = {"rank": 4, "alpha": 8.0, "seed": 0}


@pytest.fixture(scope="module", params=EXPERTS)
def named(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, write_architecture(tmp_path_factory.mktemp(request.param), request.param)


def make(folder: Path, targets: str | list[str]) -> tuple[LocalHost, LoraPolicy]:
    """An adapter that says something."""
    host = LocalHost(load_base_model(folder))
    policy = host.create_policy("policy", targets=targets, **SHAPE)
    with torch.no_grad():
        for key, parameter in policy._parameters.items():
            if "lora_B" in key:
                parameter.normal_(std=0.1, generator=torch.Generator().manual_seed(len(key)))
    return host, policy


def exported(policy: LoraPolicy, folder: Path) -> tuple[set[str], set[str], list[str]]:
    """Modules and parameters that adapter_config.json names, and the tensors."""
    policy.export(folder, base_model="tiny")
    config = json.loads((folder / "adapter_config.json").read_text())
    tensors = list(load_file(folder / "adapter_model.safetensors"))
    return set(config["target_modules"]), set(config["target_parameters"] or []), tensors


def same_when_loaded(policy: LoraPolicy, base: Path, adapter: Path) -> None:
    """By PEFT itself, which rewrites names of experts' layers."""
    other = LocalHost(load_base_model(base))
    other.load_adapter("again", adapter)
    with other.activate("again"), torch.no_grad():
        scores = score(other.base.model, SEQUENCES, None).logprobs
    torch.testing.assert_close(scores, policy.log_probs(SEQUENCES).logprobs, atol=2e-5, rtol=0)


def test_all_linear_is_attention(named: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = named
    host, policy = make(folder, "all-linear")
    expected = OUTSIDE.get(name, PLAIN)
    modules, parameters, tensors = exported(policy, tmp_path)
    assert (modules, parameters) == (expected, set())
    assert host.facts["adapter_layers"] == sorted(expected)
    assert {tensor.split(".lora_")[0].split(".")[-1] for tensor in tensors} == expected
    assert not any("expert" in tensor or "router" in tensor for tensor in tensors)
    same_when_loaded(policy, folder, tmp_path)


def test_experts_are_adapted_where_they_are_named(named: tuple[str, Path], tmp_path: Path) -> None:
    name, folder = named
    attention = sorted(OUTSIDE.get(name, PLAIN))
    host, policy = make(folder, [*attention, "experts"])
    modules, parameters, tensors = exported(policy, tmp_path)
    assert modules == set(attention)
    assert {parameter.rpartition("experts.")[2] for parameter in parameters} == {"gate_up_proj", "down_proj"}
    assert host.facts["adapter_layers"] == sorted(modules | parameters)
    assert any("experts" in tensor for tensor in tensors)
    assert not any(".gate." in tensor or "router" in tensor for tensor in tensors)
    same_when_loaded(policy, folder, tmp_path)


def test_a_router_is_refused_with_field_and_reason(named: tuple[str, Path]) -> None:
    name, folder = named
    for router in ROUTERS.get(name, {"gate"}) | {
        f"{router_name}.weight" for router_name in ROUTERS.get(name, {"gate"})
    }:
        with pytest.raises(JobFailure) as refused:
            LocalHost(load_base_model(folder)).create_policy("policy", targets=["q_proj", router], **SHAPE)
        assert refused.value.code == "invalid_adapter" and refused.value.hint
        assert f"adapter.targets: {router} decides which experts" in refused.value.message


def test_what_a_models_files_say_is_what_its_modules_say(named: tuple[str, Path], tmp_path: Path) -> None:
    """The names that a job may ask for, and the size of the adapter that it gets without."""
    name, folder = named
    facts = inspect_model(str(folder), ModelStore(tmp_path, ModelFolders((folder.parent,))))
    assert set(facts["lora_targets"]) == OUTSIDE.get(name, PLAIN) | {"experts"}
    _, policy = make(folder, "all-linear")
    trained = sum(parameter.numel() for parameter in policy._parameters.values())
    assert facts["shape"]["lora_per_rank"] * 4 == trained


def test_a_model_without_experts_is_left_to_peft(tmp_path: Path) -> None:
    model = load_base_model(write_tiny_model(tmp_path)).model
    assert find_experts(model).stacks == set()
    layers = Layers(model)
    assert layers.resolve("all-linear").modules == "all-linear"
    assert layers.resolve(["gate_proj", "q_proj"]).modules == ["gate_proj", "q_proj"]


def test_layers_inside_that_share_a_name_are_left_out() -> None:
    """A name is written out where another layer inside of a block of experts has it, too."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = torch.nn.Linear(8, 4, bias=False)
            self.out = torch.nn.Linear(8, 8)
            self.experts = torch.nn.Module()
            self.experts.up = torch.nn.Parameter(torch.zeros(4, 8, 16))
            self.experts.down = torch.nn.Parameter(torch.zeros(4, 16, 8))

    model = torch.nn.Module()
    model.attention = torch.nn.Module()
    model.attention.out, model.attention.query = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    model.block = Block()
    layers = Layers(model)
    assert layers.resolve("all-linear").modules == ["attention.out", "query"]
    assert layers.resolve(["experts"]).parameters == ["block.experts.down", "block.experts.up"]
    assert layers.resolve(["up", "query"]).parameters == ["block.experts.up"]
    with pytest.raises(JobFailure):
        layers.resolve(["gate"])
