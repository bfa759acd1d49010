"""A base in NF4: what is quantised, its gradients, scores of its paths, memory, adapters, refusals."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

from reinforge.base_models.memory import ModelShape, estimate
from reinforge.errors import JobFailure
from tests.support.architectures import write_architecture
from tests.support.tiny_models import write_tiny_model
from tests.worker.policy.test_lora import SEQUENCES, STEP, batch_of, gradients, weighted_logprob
from worker.models.inspect import read_facts
from worker.policy import nf4
from worker.policy.adapter_linear import BesideLinear
from worker.policy.forward.fused_layers import fuse
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel, load_base_model
from worker.policy.lora import LoraPolicy, base_bytes

QUANTISABLE = [
    "qwen2",
    "qwen3",
    "llama",
    "gemma",
    "gemma3_text",
    "mistral",
    "phi",
    "olmo2",
    "smollm3",
    "glm4",
    "gpt2",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("qwen3"))


def load(folder: Path) -> LoadedModel:
    return load_base_model(folder, precision="nf4")


def dequantised(folder: Path) -> LoadedModel:
    """The base in float32, with the weights that NF4 has."""
    quantised, base = load(folder).model, load_base_model(folder)
    for name, module in quantised.named_modules():
        weight = getattr(module, "weight", None)
        if weight is not None and nf4.is_nf4(weight):
            layer, dense = base.model.get_submodule(name), nf4.Nf4Weight(weight).dense()
            layer.weight.data = (dense.T if isinstance(layer, Conv1D) else dense).clone()
    return base


def policy_on(base: LoadedModel) -> LoraPolicy:
    """An adapter away from the base."""
    policy = LocalHost(base).create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in policy._parameters.items():
            if "lora_B" in key:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return policy


def gradient(policy: LoraPolicy) -> Tensor:
    policy.forward_backward(batch_of(), weighted_logprob)
    parts = gradients(policy)
    return torch.cat([parts[key].double().flatten() for key in sorted(parts)])


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(one, other, dim=0))


@pytest.mark.parametrize("architecture", QUANTISABLE)
def test_gradients_and_scores_are_those_of_the_dequantised_base(architecture: str, tmp_path: Path) -> None:
    path = write_architecture(tmp_path, architecture)
    quantised, dense = policy_on(load(path)), policy_on(dequantised(path))
    torch.testing.assert_close(
        quantised.log_probs(SEQUENCES).logprobs, dense.log_probs(SEQUENCES).logprobs, atol=2e-5, rtol=0
    )
    torch.testing.assert_close(
        quantised.reference_log_probs(SEQUENCES), dense.reference_log_probs(SEQUENCES), atol=2e-5, rtol=0
    )
    one, other = gradient(quantised), gradient(dense)
    assert cosine(one, other) >= 0.999
    torch.testing.assert_close(one.norm(), other.norm(), rtol=1e-3, atol=0)


def test_only_linear_layers_inside_are_quantised(folder: Path) -> None:
    model = load(folder).model
    quantised = {name for name, parameter in model.named_parameters() if nf4.is_nf4(parameter)}
    assert {name.rsplit(".", 2)[1] for name in quantised} == {
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    }  # fmt: skip
    assert len(quantised) == 2 * 7
    assert model.get_output_embeddings().weight.dtype == torch.float32


def test_the_quantised_base_is_another_model(folder: Path) -> None:
    full, quantised = policy_on(load_base_model(folder)), policy_on(load(folder))
    difference = full.log_probs(SEQUENCES).logprobs - quantised.log_probs(SEQUENCES).logprobs
    assert difference.abs().max() > 0.01


def test_layers_keep_only_their_input_and_the_packed_weight(folder: Path) -> None:
    policy = policy_on(load(folder))
    with policy._computing():
        layers = [module for module in policy._model.modules() if type(module) is BesideLinear]
    assert len(layers) == 2 * 7
    assert not any(tensor for layer in layers for tensor in layer.parameters())


def test_the_sampler_computes_what_the_trainer_computes(folder: Path) -> None:
    base = load(folder)
    host = LocalHost(base)
    policy = host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0)
    policy.forward_backward(batch_of(), weighted_logprob)
    policy.optimizer_step(**STEP)
    row = [*SEQUENCES.prompts[0], *SEQUENCES.completions[0]]
    with host.sampling_as("policy") as active, active(), torch.no_grad():
        logits = base.model(input_ids=torch.tensor([row])).logits[0] / 0.8
    expected = logits.log_softmax(-1)[range(2, 5), SEQUENCES.completions[0]]
    torch.testing.assert_close(policy.log_probs(SEQUENCES).logprobs[0, :3], expected, atol=1e-5, rtol=0)


def test_facts_count_weights_and_not_bytes(folder: Path) -> None:
    full, quantised = LocalHost(load_base_model(folder)), LocalHost(load(folder))
    assert quantised.facts["parameters"] == full.facts["parameters"]
    assert quantised.facts["precision"] == "nf4, computed in float32"
    assert full.facts["precision"] == "float32"


def test_linear_weights_take_about_half_a_byte(tmp_path: Path) -> None:
    path = write_architecture(tmp_path, "llama", head_dim=64, intermediate_size=512)
    full, model = load_base_model(path).model, load(path).model
    linear = sum(nf4.parameter_count(p) for p in model.parameters() if nf4.is_nf4(p))
    rest = sum(p.nbytes for p in model.parameters() if not nf4.is_nf4(p))
    assert base_bytes(model) == pytest.approx(rest + 0.516 * linear, rel=0.001)
    assert base_bytes(full) == rest + 4 * linear


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gpt2"])
def test_the_estimate_of_its_weights_is_within_a_tenth(architecture: str, tmp_path: Path) -> None:
    path = write_architecture(tmp_path, architecture, head_dim=64, intermediate_size=512)
    facts = read_facts(path, {})
    model = AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.bfloat16, quantization_config=nf4.nf4_config(torch.device("cpu"))
    )
    estimated = estimate(facts["parameters"], ModelShape.model_validate(facts["shape"])).weights_nf4
    assert estimated == pytest.approx(base_bytes(model), rel=0.1)


def test_experts_have_no_estimate(tmp_path: Path) -> None:
    facts = read_facts(write_architecture(tmp_path, "qwen3_moe"), {})
    assert facts["shape"]["linear"] is None


def test_the_fast_layout_without_gradients_is_off(folder: Path) -> None:
    """Layers of bitsandbytes have the switch on processors with AVX512-BF16, and some other machine may have one."""
    model = load_base_model(folder).model
    model.model.layers[0].mlp.support_avx512bf16_for_cpu = True
    nf4.use_plain_layout(model)
    assert model.model.layers[0].mlp.support_avx512bf16_for_cpu is False
    layers = [m for m in load(folder).model.modules() if hasattr(m, "support_avx512bf16_for_cpu")]
    assert len(layers) == 2 * 7 and not any(layer.support_avx512bf16_for_cpu for layer in layers)


def test_fused_layers_are_tried_in_the_precision_of_products(folder: Path) -> None:
    """Packed weights are bytes, of which no input can be drawn."""
    assert fuse(load(folder).model, compiler=lambda function: function)["gates"] == 2


def test_its_adapter_loads_on_the_unquantised_base(folder: Path, tmp_path: Path) -> None:
    policy = policy_on(load(folder))
    policy.export(tmp_path / "adapter", base_model="tiny")
    base = load_base_model(folder)
    host = LocalHost(base)
    host.load_adapter("policy", tmp_path / "adapter")
    same = policy_on(load_base_model(folder))
    same.load_weights(policy.weights())
    row = torch.tensor([[5, 6, 7, 40, 41, 1]])
    with host.activate("policy"), torch.no_grad():
        logits = base.model(input_ids=row).logits[0, 2:5] / 0.8
    expected = logits.log_softmax(-1)[range(3), [40, 41, 1]]
    torch.testing.assert_close(same.log_probs(SEQUENCES).logprobs[0, :3], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("architecture", ["qwen3_moe", "gpt_oss"])
def test_experts_are_refused(architecture: str, tmp_path: Path) -> None:
    with pytest.raises(JobFailure, match="mixture of experts") as error:
        load(write_architecture(tmp_path, architecture))
    assert error.value.code == "nf4_unsupported"


@pytest.mark.parametrize("broken", ["missing", "wrong"])
def test_a_library_that_does_not_work_is_named(
    broken: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = nf4.bitsandbytes()
    if broken == "missing":

        def missing() -> None:
            raise ImportError("No module named 'bitsandbytes'")

        monkeypatch.setattr(nf4, "bitsandbytes", missing)
    else:
        monkeypatch.setattr(library.functional, "dequantize_4bit", lambda packed, state: torch.zeros(64, 64))
    with pytest.raises(JobFailure, match="bitsandbytes does not work on this worker") as error:
        load(folder)
    assert error.value.code == "nf4_unavailable" and error.value.retryable
    assert "pip install" in (error.value.hint or "")


@pytest.mark.long
def test_jobs_without_it_do_not_import_the_library(folder: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
host = LocalHost(load_base_model(Path({str(folder)!r})))
host.create_policy("policy", rank=4, alpha=8, targets="all-linear", seed=0)
assert sys.modules.get("bitsandbytes") is None
load_base_model(Path({str(folder)!r}), precision="nf4")
assert sys.modules["bitsandbytes"] is not None
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
