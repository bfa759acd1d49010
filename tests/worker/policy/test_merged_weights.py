"""Adapters added into copies of the weights: PEFT's numbers and gradients, and nothing left behind."""

from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import Linear as LoraLinear
from torch import Tensor

from tests.support.architectures import write_architecture
from worker.policy.adapter_linear import BesideLinear
from worker.policy.load import load_base_model
from worker.policy.merged_weights import MergedLinear, lora_linear, merged

IDS = torch.arange(24).view(2, 12) * 5 % 250


def adapted(folder: Path, dtype: torch.dtype = torch.float64, **settings: object) -> PeftModel:
    base = load_base_model(write_architecture(folder, "qwen2"))
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM", **settings)
    torch.manual_seed(0)
    peft = get_peft_model(base.model.to(dtype), config, adapter_name="policy", autocast_adapter_dtype=False)
    with torch.no_grad():
        for name, parameter in peft.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    return peft.eval()


def loss_and_gradients(peft: PeftModel) -> tuple[Tensor, dict[str, Tensor]]:
    parameters = {name: p for name, p in peft.named_parameters() if p.requires_grad}
    logits = peft(input_ids=IDS, use_cache=False).logits
    loss = logits.log_softmax(-1)[..., ::7].sum()
    return logits, dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values())), strict=True))


def layers(peft: PeftModel, kind: type) -> int:
    return sum(type(module) is kind for module in peft.modules())


def test_gradients_are_those_of_the_two_products() -> None:
    """Against finite differences, with and without a bias, in every shape a layer may be given."""
    generator = torch.Generator().manual_seed(0)

    def some(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    weight, bias = some(3, 5), some(3)
    down, up = some(2, 5).requires_grad_(), some(3, 2).requires_grad_()
    for shape in ((4, 5), (2, 3, 5)):
        x = some(*shape).requires_grad_()

        def whole(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
            return lora_linear(x, (weight + 0.5 * up @ down).detach(), bias, down, up, 0.5)

        def apart(x: Tensor, down: Tensor, up: Tensor) -> Tensor:
            return x @ weight.T + bias + 0.5 * x @ down.T @ up.T

        seed = some(*shape[:-1], 3)
        torch.testing.assert_close(whole(x, down, up), apart(x, down, up))
        product_gradients, expected = (
            torch.autograd.grad((f(x, down, up) * seed).sum(), (x, down, up)) for f in (whole, apart)
        )
        torch.testing.assert_close(product_gradients, expected)


def test_a_model_computes_as_with_its_adapter(tmp_path: Path) -> None:
    peft = adapted(tmp_path)
    logits, gradients = loss_and_gradients(peft)
    count = layers(peft, LoraLinear)
    names = [name for name, _ in peft.named_parameters()]
    parameters = {name: p for name, p in peft.named_parameters() if p.requires_grad}
    with merged(peft, "policy") as active:
        with active():
            assert layers(peft, MergedLinear) == count > 0 == layers(peft, LoraLinear)
            peft_logits = peft(input_ids=IDS, use_cache=False).logits
            loss = peft_logits.log_softmax(-1)[..., ::7].sum()
            own_gradients = torch.autograd.grad(loss, list(parameters.values()))
        assert layers(peft, LoraLinear) == count
    torch.testing.assert_close(peft_logits, logits, atol=1e-12, rtol=0)
    for name, gradient in zip(parameters, own_gradients, strict=True):
        torch.testing.assert_close(gradient, gradients[name], atol=1e-10, rtol=1e-10)
    assert [name for name, _ in peft.named_parameters()] == names
    assert torch.equal(loss_and_gradients(peft)[0], logits), "the weights are not what they were"


def test_an_error_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    peft = adapted(tmp_path)
    count = layers(peft, LoraLinear)
    with pytest.raises(RuntimeError, match="broken"), merged(peft, "policy") as active, active():
        raise RuntimeError("broken")
    assert layers(peft, LoraLinear) == count


@pytest.mark.parametrize(
    ("dtype", "settings"),
    [
        (torch.float64, {"use_dora": True}),
        (torch.float64, {"lora_bias": True}),
        (torch.bfloat16, {"use_dora": True}),
    ],
)
def test_what_is_no_plain_sum_keeps_its_adapter(
    tmp_path: Path, dtype: torch.dtype, settings: dict[str, bool]
) -> None:
    peft = adapted(tmp_path, dtype, **settings)
    with merged(peft, "policy") as active, active():
        assert layers(peft, MergedLinear) == layers(peft, BesideLinear) == 0
