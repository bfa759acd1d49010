"""Merged adapters: the same log-probabilities, and the base model's weights by name, shape and precision."""

import json
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors import safe_open
from transformers import AutoModelForCausalLM

from reinforge.errors import InvalidInput
from tests.support.tiny_models import write_tiny_model
from worker.policy.merge import merge


def write_adapter(base: Path, folder: Path, *, size: float = 0.02) -> Path:
    model = AutoModelForCausalLM.from_pretrained(base)
    torch.manual_seed(1)
    peft = get_peft_model(
        model, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    for name, parameter in peft.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=size)
    peft.save_pretrained(folder)
    return folder


def tensors(folder: Path) -> dict[str, tuple[list[int], str]]:
    with safe_open(folder / "model.safetensors", "pt") as file:
        slices = {name: file.get_slice(name) for name in list(file.keys())}
        return {name: (part.get_shape(), part.get_dtype()) for name, part in slices.items()}


def logprobs(model: torch.nn.Module) -> torch.Tensor:
    tokens = torch.randint(40, (3, 20), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        return model(input_ids=tokens).logits.float().log_softmax(-1)


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_tiny_model(tmp_path_factory.mktemp("model") / "base")
    AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, request.param)).save_pretrained(folder)
    return folder


def test_a_merged_model_computes_what_the_adapter_computes(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(base, tmp_path / "adapter")
    facts = merge(base, adapter, tmp_path / "merged")
    beside = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), adapter
    )
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype=torch.float32)
    difference = (logprobs(merged) - logprobs(beside)).abs().max().item()
    plain = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    effect = (logprobs(plain) - logprobs(beside)).abs().max().item()
    exact = facts["precision"] == ["float32"]
    assert difference < (1e-4 if exact else 0.05)
    assert facts["largest_difference"] < (1e-4 if exact else 0.05)
    assert effect > 10 * difference


def test_nothing_of_the_adapter_remains_beside_the_weights(base: Path, tmp_path: Path) -> None:
    """Equal modules and shapes: as fast as the base model."""
    merge(base, write_adapter(base, tmp_path / "adapter"), tmp_path / "merged")
    assert tensors(tmp_path / "merged") == tensors(base)
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    assert not [name for name, module in merged.named_modules() if "lora" in type(module).__module__ + name]
    config = json.loads((tmp_path / "merged" / "config.json").read_text())
    assert config["architectures"] == json.loads((base / "config.json").read_text())["architectures"]
    assert (tmp_path / "merged" / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()


def test_an_adapter_of_another_model_is_refused(base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(base, tmp_path / "adapter")
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps(config | {"r": 8}))
    with pytest.raises(InvalidInput) as caught:
        merge(base, adapter, tmp_path / "merged")
    assert caught.value.code == "merge_failed"
    assert not (tmp_path / "merged").exists()
