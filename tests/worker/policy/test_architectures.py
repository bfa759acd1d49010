"""Every architecture of the list: loaded, adapted, sampled, trained, exported and loaded again; and whatever is done to
be fast says what a plain pass over one row at a time says."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.support.architectures import ARCHITECTURES, write_architecture
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.forward import logprobs, micro_batches
from worker.policy.forward.scoring import score
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.policy.targets import find_experts
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.transformers_engine import TransformersEngine

PROMPT = tuple(range(5, 45))
SHARED = Sequences(
    [PROMPT] * 4 + [PROMPT[3:20]] * 2,
    [[50 + i, 60, 70 + i, 80, 90, 100, 1][: 3 + i] for i in range(4)] + [[33, 34, 1], [35]],
    0.8,
)
ATTENTION = {
    "q_proj",
    "k_proj",
    "v_proj",
    "o_proj",
    "q_a_proj",
    "q_b_proj",
    "kv_a_proj_with_mqa",
    "kv_b_proj",
}
"""Of the mixtures of experts, whose experts are adapted here, too."""
STEP = {"learning_rate": 0.02, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_architecture(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(autouse=True)
def _short_prompts_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(micro_batches, "LONG_PROMPT", 8)


def make(folder: Path, dtype: torch.dtype = torch.float32) -> tuple[LocalHost, LoraPolicy]:
    """An adapter that has moved away from the base; the same for every `dtype`."""
    base = load_base_model(folder)
    base.model.to(dtype)
    if dtype == torch.float64:  # the grouped product of experts knows no float64
        base.model.set_experts_implementation("eager")
    host = LocalHost(base)
    targets: str | list[str] = "all-linear"
    if experts := find_experts(base.model).stacks:
        targets = [
            *sorted(ATTENTION & {name.split(".")[-1] for name, _ in base.model.named_modules()}),
            "experts",
        ]
        assert len(targets) > 4 and experts
    policy = host.create_policy("policy", rank=4, alpha=8, targets=targets, seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in policy._parameters.items():
            parameter.data = parameter.data.to(dtype)
            if "lora_B" in key:
                parameter.add_(torch.randn(parameter.shape, generator=generator).to(dtype), alpha=0.05)
    return host, policy


def weighted(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    weights = tensors["scale"][:, None].to(scores.logprobs.dtype)
    return LossValue((scores.logprobs * weights).sum(), {})


def batch_of(sequences: Sequences) -> Batch:
    scale = torch.tensor([1.0, -2.0, 0.5, 1.5, -1.0, 0.7])
    return Batch(sequences, {"scale": scale}, torch.ones(len(sequences), dtype=torch.bool), denominator=3.0)


def fast(policy: LoraPolicy) -> tuple[Tensor, dict[str, Tensor]]:
    """Log-probabilities, and gradients by parameter, as training computes them."""
    policy._optimizer.zero_grad(set_to_none=True)
    ran = policy.forward_backward(batch_of(SHARED), weighted)
    return ran.scores.logprobs, {
        k: p.grad.clone() for k, p in policy._parameters.items() if p.grad is not None
    }


def naive(policy: LoraPolicy) -> tuple[Tensor, dict[str, Tensor]]:
    """The same by the whole model's logits, a row at a time, without any of the policy's own code."""
    policy._optimizer.zero_grad(set_to_none=True)
    logprobs = torch.zeros(len(SHARED), SHARED.longest, dtype=torch.float64)
    scale = batch_of(SHARED).tensors["scale"].tolist()
    with policy._activate(policy.name):
        for row, (prompt, completion) in enumerate(zip(SHARED.prompts, SHARED.completions, strict=True)):
            logits = policy._model(torch.tensor([[*prompt, *completion]]), use_cache=False).logits[0]
            log_distribution = torch.log_softmax(logits[len(prompt) - 1 : -1] / SHARED.temperature, -1)
            chosen = log_distribution.gather(-1, torch.tensor(completion)[:, None])[:, 0]
            (chosen.sum() * scale[row] / 3.0).backward()
            logprobs[row, : len(completion)] = chosen.detach()
    return logprobs, {k: p.grad.clone() for k, p in policy._parameters.items() if p.grad is not None}


def distance(actual: Tensor, expected: Tensor) -> float:
    """Of the whole tensor, relative to its norm."""
    return float((actual.double() - expected.double()).norm() / expected.double().norm().clamp(min=1e-30))


def test_every_layout_is_the_naive_one_in_float64(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(logprobs.SLICE_BYTES, "cpu", 4 * 3 * 260)
    _, policy = make(folder, torch.float64)
    # What the models do in float32 whatever they are given (norms, rotations, routers) they do in float64 here.
    monkeypatch.setattr(torch, "float32", torch.float64)
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    expected, expected_gradients = naive(policy)
    for policy.layout in sorted(policy.layouts):
        assert distance(_double_scores(policy), expected) < 1e-9, policy.layout
        _, gradients = fast(policy)
        assert gradients.keys() == expected_gradients.keys()
        for key, gradient in gradients.items():
            assert distance(gradient, expected_gradients[key]) < 1e-9, (policy.layout, key)


def test_gradient_checkpointing_gives_the_same_gradients(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(logprobs.SLICE_BYTES, "cpu", 4 * 3 * 260)
    _, policy = make(folder, torch.float64)
    for policy.layout in sorted(policy.layouts):
        used = {part.layout for part in policy._plan(SHARED, range(len(SHARED)))}
        assert policy.layout in used
        policy.passes.checkpointing = False
        _, expected = fast(policy)
        policy.passes.checkpointing = True
        _, gradients = fast(policy)
        assert gradients.keys() == expected.keys()
        for key, gradient in gradients.items():
            assert distance(gradient, expected[key]) < 1e-12, (policy.layout, key)


def test_in_float32_it_errs_at_most_twice_as_much_as_the_naive_one(folder: Path) -> None:
    _, exact = make(folder, torch.float64)
    _, expected = naive(exact)
    _, policy = make(folder)
    _, plain = naive(policy)
    _, gradients = fast(policy)
    assert _error(gradients, expected) <= 2 * _error(plain, expected) + 1e-7


def test_it_is_adapted_sampled_trained_exported_and_loaded_again(folder: Path, tmp_path: Path) -> None:
    host, policy = make(folder)
    engine = TransformersEngine(host.base.model, lambda rows: ["" for _ in rows], host.sampling_as)
    (first,) = _sample(engine, policy.name)
    assert len(first) == 4 and all(1 <= len(tokens) <= 6 for tokens in first)
    scores = policy.log_probs(Sequences([PROMPT] * 4, first, 1.0))
    (answer,) = _sample(engine, policy.name, logprobs=True)
    for row, logprobs_sampled in enumerate(answer):
        torch.testing.assert_close(
            scores.logprobs[row, : len(logprobs_sampled)], torch.tensor(logprobs_sampled), atol=2e-5, rtol=0
        )
    before = policy.log_probs(SHARED).logprobs
    policy.forward_backward(batch_of(SHARED), weighted)
    assert policy.optimizer_step(**STEP) > 0
    after = policy.log_probs(SHARED).logprobs
    assert not torch.equal(before, after)
    policy.export(tmp_path / "adapter", base_model="tiny")
    other = LocalHost(load_base_model(folder))
    other.load_adapter("again", tmp_path / "adapter")
    with other.activate("again"), torch.no_grad():
        again = score(other.base.model, SHARED.take(range(4)), None).logprobs
    torch.testing.assert_close(again, after[:4, : again.shape[1]], atol=2e-5, rtol=0)


def test_prompts_are_shared_and_rows_packed_where_every_layer_keeps_all_tokens(folder: Path) -> None:
    _, policy = make(folder)
    slides = "sliding_attention" in (getattr(policy._model.config, "layer_types", None) or ())
    expected = {"padded"} if policy._split is None or slides else {"padded", "prompt_once", "packed"}
    assert policy.layouts == expected
    # On the CPU a line of packed rows is slower than groups behind their prompts.
    assert policy.layout == ("prompt_once" if "prompt_once" in expected else "padded")


def _double_scores(policy: LoraPolicy) -> Tensor:
    """As `log_probs`, which keeps float32, would have them."""
    logprobs = torch.zeros(len(SHARED), SHARED.longest, dtype=torch.float64)
    with policy._activate(policy.name), torch.no_grad():
        for part in policy._plan(SHARED, range(len(SHARED))):
            rows = SHARED.take(part.rows)
            scores = score(policy._model, rows, policy._split, layout=part.layout)
            logprobs[part.rows, : scores.logprobs.shape[1]] = scores.logprobs
    return logprobs


def _error(actual: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    flat = torch.cat([actual[key].double().flatten() for key in expected])
    return distance(flat, torch.cat([tensor.double().flatten() for tensor in expected.values()]))


def _sample(engine: TransformersEngine, policy: str, *, logprobs: bool = False) -> list[list[list[float]]]:
    request = GenerateRequest(
        policy, 0, PROMPT, 4, Sampling(6, 1.0, 1.0, (1,)), NoiseKey(0, Stream.TRAIN, 1, 0), 0
    )

    async def run() -> list[list[list[float]]]:
        await engine.publish(policy, 0)
        return [
            [list(sample.logprobs if logprobs else sample.token_ids) for sample in answer.samples]
            async for answer in engine.generate([request])
        ]

    return asyncio.run(run())


def test_ids_beyond_the_vocabulary_end_no_completion(tmp_path: Path) -> None:
    folder = write_architecture(tmp_path, "llama")
    config = json.loads((folder / "config.json").read_text())
    ends = load_base_model(folder).stop_ids
    generation = {"eos_token_id": [-1, ends[0], config["vocab_size"], config["vocab_size"] + 7]}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    assert load_base_model(folder).stop_ids == ends
