"""Adapters beside layers of low precision: as exact as PEFT's float32 products, and only the input is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from peft.tuners.lora import Linear as LoraLinear
from torch import Tensor

from tests.support.architectures import write_architecture
from worker.policy import merged_weights
from worker.policy.adapter_linear import BesideLinear
from worker.policy.forward.activations import saved_bytes
from worker.policy.forward.precision import float32_product
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy

IDS = torch.arange(48).view(2, 24) * 5 % 250


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_architecture(tmp_path_factory.mktemp("qwen2"), "qwen2")


@pytest.fixture
def as_peft(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as context:
        context.setattr(merged_weights, "BESIDE", ())
        yield context


def make(folder: Path, dtype: torch.dtype) -> LoraPolicy:
    """An adapter away from the base, over the base's bfloat16 weights in any precision."""
    base = load_base_model(folder)
    base.model.to(torch.bfloat16).to(dtype)
    policy = LocalHost(base).create_policy("policy", rank=4, alpha=12, targets="all-linear", seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in policy._parameters.items():
            if "lora_B" in key:
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
            if dtype == torch.float64:
                parameter.data = parameter.data.double()
    return policy


def hidden_and_gradients(policy: LoraPolicy) -> tuple[Tensor, Tensor]:
    """Last hidden states, and the adapter's gradients in one vector."""
    with policy._computing():
        states = policy._model.model(input_ids=IDS, use_cache=False).last_hidden_state
        seed = torch.sin(torch.arange(states.numel(), dtype=torch.float64)).view(states.shape)
        gradients = torch.autograd.grad((states.double() * seed).sum(), policy.trained.list)
    assert {gradient.dtype for gradient in gradients} == {p.dtype for p in policy.trained.list}
    return states.detach(), torch.cat([gradient.double().flatten() for gradient in gradients])


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(one.double().flatten(), other.double().flatten(), 0))


def test_a_bfloat16_model_has_the_gradients_of_the_float32_adapter(
    folder: Path, as_peft: pytest.MonkeyPatch
) -> None:
    policy = make(folder, torch.bfloat16)
    peft_states, peft_gradients = hidden_and_gradients(policy)
    as_peft.undo()
    states, gradients = hidden_and_gradients(policy)
    assert cosine(gradients, peft_gradients) >= 0.999
    exact_states, exact_gradients = hidden_and_gradients(make(folder, torch.float64))
    assert (states - exact_states).norm() <= 1.5 * (peft_states - exact_states).norm()
    assert 1 - cosine(gradients, exact_gradients) <= 1.5 * (1 - cosine(peft_gradients, exact_gradients))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_all_layers_have_a_stand_in_of_the_factors_only(folder: Path, dtype: torch.dtype) -> None:
    policy = make(folder, dtype)
    model = policy._model
    count = sum(type(module) is LoraLinear for module in model.modules())
    with policy._computing():
        stand_ins = [module for module in model.modules() if type(module) is BesideLinear]
        assert len(stand_ins) == count == 2 * 7
        assert all(not list(module.parameters()) for module in stand_ins)
        logits = policy._model(input_ids=IDS, use_cache=False).logits
    with policy._activate("policy"), torch.no_grad():
        expected = policy._model(input_ids=IDS, use_cache=False).logits
    assert not any(type(module) is BesideLinear for module in model.modules())
    torch.testing.assert_close(logits, expected, atol=0.05, rtol=0.05)


def test_with_and_without_gradient_it_says_the_same(folder: Path) -> None:
    policy = make(folder, torch.bfloat16)
    with policy._computing():
        one = policy._model(input_ids=IDS, use_cache=False).logits
        with torch.no_grad():
            two = policy._model(input_ids=IDS, use_cache=False).logits
    assert one.requires_grad and torch.equal(one, two)


def test_a_forward_pass_saves_at_most_0_7_of_the_bytes_saved_before(
    folder: Path, as_peft: pytest.MonkeyPatch
) -> None:
    policy = make(folder, torch.bfloat16)

    def attempt() -> None:
        hidden_and_gradients(policy)

    before = saved_bytes(policy._model, attempt)
    as_peft.undo()
    assert saved_bytes(policy._model, attempt) <= 0.7 * before


def test_products_are_not_rounded_on_the_way_out() -> None:
    a, b = torch.full((1, 3), 1.0, dtype=torch.bfloat16), torch.tensor([[256.0], [1.0], [0.5]]).bfloat16()
    assert float(float32_product(a, b)) == 257.5
    assert float32_product(a.double(), b.double()).dtype == torch.float64
