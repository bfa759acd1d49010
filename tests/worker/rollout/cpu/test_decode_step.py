"""The fast decode step: same numbers as the model's forward pass, for supported models only."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from tests.support.architectures import ARCHITECTURES, write_architecture
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.rollout.cpu import decoder
from worker.rollout.cpu.decode_step import DecodeStep, fast_step, supports_decode_step
from worker.rollout.decoder import Decoder
from worker.rollout.engine import Generated, GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.transformers_engine import TransformersEngine

SUPPORTED = {"llama", "mistral", "qwen2", "qwen3", "smollm3"}
LENGTHS = (3, 40, 17)


class Counted(DecodeStep):
    steps: ClassVar[int]

    def __call__(self, *arguments: Any) -> Tensor:
        Counted.steps += 1
        return super().__call__(*arguments)


def host_of(folder: Path, architecture: str, targets: str | list[str] = "all-linear") -> LocalHost:
    """With an adapter that has moved away from the base."""
    host = LocalHost(load_base_model(write_architecture(folder, architecture)))
    host.create_policy("policy", rank=4, alpha=8, targets=targets, seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in host.base.model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1, generator=generator)
            elif parameter.dim() == 1:  # biases are made as 0, weights of norms as 1
                parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return host


def sampled(
    host: LocalHost,
    fast: bool,
    policy: str | None = "policy",
    lengths: tuple[int, ...] = LENGTHS,
) -> list[Generated]:
    """Prompts of these lengths, whose completions end at different times."""
    engine = TransformersEngine(host.base.model, lambda rows: ["" for _ in rows], host.sampling_as)
    if not fast:
        engine._new_decoder = partial(Decoder, host.base.model)
    requests = [
        GenerateRequest(
            policy,
            0,
            tuple((7 * number + 5 * place) % 250 + 5 for place in range(length)),
            4,
            Sampling(90, 1.0, stop_ids=tuple(range(8)), entropies=True),
            NoiseKey(3, Stream.TRAIN, 1, number),
            number,
        )
        for number, length in enumerate(lengths)
    ]

    async def run() -> list[Generated]:
        await engine.publish("policy", 0)
        return [answer async for answer in engine.generate(requests)]

    return sorted(asyncio.run(run()), key=lambda answer: answer.request.tag)


@pytest.mark.parametrize("prompts", [LENGTHS, (90, 70, 3), (70, 70)], ids=["short", "long", "even"])
@pytest.mark.parametrize("policy", ["policy", None])
@pytest.mark.parametrize("architecture", sorted(SUPPORTED))
def test_it_samples_what_the_model_itself_samples(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    architecture: str,
    policy: str | None,
    prompts: tuple[int, ...],
) -> None:
    """From 64 tokens on prompts are read once for all their rows."""
    host = host_of(tmp_path, architecture)
    monkeypatch.setattr(decoder, "fast_step", Counted)
    Counted.steps = 0
    answers, expected = sampled(host, True, policy, prompts), sampled(host, False, policy, prompts)
    lengths = {len(sample.token_ids) for answer in answers for sample in answer.samples}
    assert 64 < Counted.steps <= 90 and len(lengths) > 3, "neither room nor rows changed"
    for answer, own in zip(answers, expected, strict=True):
        for one, other in zip(answer.samples, own.samples, strict=True):
            assert one.token_ids == other.token_ids and one.finish_reason == other.finish_reason
            for numbers, expected_numbers in (
                (one.logprobs, other.logprobs),
                (one.entropies, other.entropies),
            ):
                torch.testing.assert_close(
                    torch.tensor(numbers), torch.tensor(expected_numbers), atol=2e-5, rtol=0
                )


@pytest.mark.parametrize("architecture", ["qwen2", "qwen3"])
def test_some_layers_may_be_without_an_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    host = host_of(tmp_path, architecture, ["k_proj", "down_proj"])
    monkeypatch.setattr(decoder, "fast_step", Counted)
    Counted.steps = 0
    answers, expected = sampled(host, True), sampled(host, False)
    assert Counted.steps
    assert [[s.token_ids for s in a.samples] for a in answers] == [
        [s.token_ids for s in a.samples] for a in expected
    ]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_has_it_where_it_is_built_that_way(tmp_path: Path, architecture: str) -> None:
    model = load_base_model(write_architecture(tmp_path, architecture)).model
    assert supports_decode_step(model) == (architecture in SUPPORTED)


@pytest.mark.parametrize("change", ["a layer without positions", "scaled residuals", "another activation"])
def test_a_model_that_does_more_than_its_parts_show_has_none(tmp_path: Path, change: str) -> None:
    model = load_base_model(write_architecture(tmp_path, "llama")).model
    layer = model.model.layers[0]
    if change == "a layer without positions":
        plain = layer.self_attn.forward

        def unturned(
            *arguments: object, position_embeddings: tuple[Tensor, Tensor], **more: object
        ) -> object:
            cos, sin = position_embeddings
            turn = torch.ones_like(cos), torch.zeros_like(sin)
            return plain(*arguments, position_embeddings=turn, **more)

        layer.self_attn.forward = unturned
    elif change == "scaled residuals":
        layer.register_forward_hook(lambda *arguments: arguments[-1] * 1.1)
    else:
        layer.mlp.forward = lambda x: layer.mlp.down_proj(layer.mlp.gate_proj(x) * layer.mlp.up_proj(x))
    assert not supports_decode_step(model)


def test_a_model_of_half_precision_has_none(tmp_path: Path) -> None:
    model = load_base_model(write_architecture(tmp_path, "llama")).model
    assert not supports_decode_step(model.to(torch.bfloat16))


def test_a_layer_with_an_adapter_beside_it_is_left_to_the_model(tmp_path: Path) -> None:
    host = host_of(tmp_path, "qwen3")
    with host.activate("policy"):
        assert fast_step(host.base.model) is None
    with host.activate(None):
        assert fast_step(host.base.model) is not None
    with host.sampling_as("policy") as active, active():
        assert fast_step(host.base.model) is not None


@pytest.mark.parametrize("policy", ["policy", None])
@pytest.mark.parametrize("targets", ["all-linear", ["q_proj", "v_proj", "up_proj"]], ids=["all", "some"])
def test_weights_of_a_batch_are_held_once(
    tmp_path: Path, policy: str | None, targets: str | list[str]
) -> None:
    """Whether they are joined or not, and the model goes on with the same numbers."""
    host = host_of(tmp_path, "qwen2", targets)
    with torch.inference_mode(), host.sampling_as(policy) as active, active():
        model = host.base.model
        ids = torch.arange(6)[None]
        before = model(input_ids=ids, use_cache=False).logits
        step = fast_step(model)
        assert step is not None
        for layer, step_layer in zip(model.model.layers, step._layers, strict=True):
            modules = [getattr(layer.self_attn, f"{name}_proj") for name in "qkv"]
            own = {module.weight.untyped_storage().data_ptr() for module in modules}
            joint = {product.weight.untyped_storage().data_ptr() for product in step_layer._project._products}
            assert joint == own and len(own) == (1 if policy and targets == "all-linear" else 3)
        assert torch.equal(model(input_ids=ids, use_cache=False).logits, before)
