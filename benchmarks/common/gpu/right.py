"""Section `right`: on the device, tiny models say and learn what one row at a time says and learns in float64."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from common.gpu.models import move, weighted
from common.gpu.rows import Row, Setting, at_least, at_most, holds
from worker.policy.base import Batch, Sequences
from worker.policy.forward.micro_batches import Layout
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel
from worker.policy.lora import LoraPolicy
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream
from worker.rollout.transformers_engine import TransformersEngine

SIZES = {
    "vocab_size": 512,
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": None,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
WINDOWS = {"sliding_window": 64, "layer_types": ["sliding_attention", "full_attention"]}
ARCHITECTURES: dict[str, dict[str, object]] = {
    "qwen2": {},
    "qwen3": {"head_dim": 32},
    "llama": {},
    "gemma3_text": {"head_dim": 32, **WINDOWS},
    "qwen3_moe": {"head_dim": 32, **EXPERTS},
}
"""transformers' names, and what their configurations need beside the sizes."""
EXACT = ("qwen3", "qwen3_moe")
"""Tried in float32 too."""
FLOAT32_GAP = 1e-3
"""Nats, of one token. Products on a GPU sum in another order."""
FLOAT32_COSINE = 0.9999
BF16_FACTOR, BF16_GAP = 2.0, 0.005
"""In bf16 the mean gap may be this many times that of plain passes in bf16, and so much more."""
BF16_COSINE = 0.03
"""By how much the cosine of gradients may fall below that of plain passes in bf16."""


@dataclass(frozen=True, slots=True)
class Result:
    logprobs: Tensor
    """(tokens,) float64."""
    gradient: Tensor
    """(parameters,) float64, of all adapters."""

    def gaps(self, exact: "Result") -> Tensor:
        return (self.logprobs - exact.logprobs).abs()

    def cosine(self, exact: "Result") -> float:
        return float(torch.nn.functional.cosine_similarity(self.gradient, exact.gradient, dim=0))


def names() -> list[str]:
    return [name for name, _, _ in _cases()]


def run(setting: Setting) -> Iterator[Row]:
    for name, architecture, dtype in _cases():
        yield from _guarded(name, lambda a=architecture, d=dtype: _architecture(a, d, setting))  # type: ignore[misc]


def _cases() -> Iterator[tuple[str, str, torch.dtype]]:
    for name in ARCHITECTURES:
        for dtype in (torch.float32, torch.bfloat16) if name in EXACT else (torch.bfloat16,):
            yield f"{name}/{_short(dtype)}", name, dtype


def _guarded(name: str, rows: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """The rows; an error is a failed row, so that the other architectures still run."""
    try:
        yield from rows()
    except Exception as error:  # noqa: BLE001 - whatever a library raises on a new GPU
        yield holds(
            name, False, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        )


def _architecture(name: str, dtype: torch.dtype, setting: Setting) -> Iterator[Row]:
    rows = _rows()
    exact_policy = _policy(name, "cpu", torch.float64, rounded=dtype)
    exact = _plain(exact_policy, rows)
    policy = _policy(name, setting.device, dtype)
    plain = _plain(policy, rows)
    label = f"{name}/{_short(dtype)}"
    for arm, prepare in _arms(policy):
        prepare()
        yield from _compare(f"{label}/{arm}", _trained(policy, rows), exact, plain, dtype)
    yield from _sampled(label, policy, dtype)


def _arms(policy: LoraPolicy) -> Iterator[tuple[str, Callable[[], None]]]:
    """Ways in which a batch can be computed, each prepared by its function."""

    def checkpointing() -> None:
        policy.passes.checkpointing = True

    def small() -> None:
        policy.passes.checkpointing = False
        policy.passes.tokens = 256

    def laid_out(layout: Layout) -> Callable[[], None]:
        def prepare() -> None:
            policy.layout = layout

        return prepare

    yield f"as a job, {policy.layout}", lambda: None
    yield "checkpointing", checkpointing
    yield "small micro-batches", small
    for layout in sorted(policy.layouts - {policy.layout}):
        yield layout, laid_out(layout)


def _compare(label: str, result: Result, exact: Result, plain: Result, dtype: torch.dtype) -> Iterator[Row]:
    gaps = result.gaps(exact)
    if dtype == torch.float32:
        yield at_most(f"{label}: largest gap", float(gaps.max()), FLOAT32_GAP, "nats")
        yield at_least(f"{label}: cosine of gradients", result.cosine(exact), FLOAT32_COSINE)
        return
    base = float(plain.gaps(exact).mean())
    yield at_most(f"{label}: mean gap", float(gaps.mean()), BF16_FACTOR * base + BF16_GAP, "nats", plain=base)
    least = plain.cosine(exact) - BF16_COSINE
    yield at_least(f"{label}: cosine of gradients", result.cosine(exact), least)


def _rows() -> Sequences:
    """Two groups with long prompts and one with a short one; completions of very different lengths."""
    generator = torch.Generator().manual_seed(2)

    def ids(count: int) -> list[int]:
        return torch.randint(2, 512, (count,), generator=generator).tolist()

    prompts, completions = [], []
    for length in (150, 90, 7):
        prompt = ids(length)
        for number in range(4):
            prompts.append(prompt)
            completions.append(ids(3 + 29 * number))
    return Sequences(prompts, completions, 0.9)


def _policy(
    name: str, device: str, dtype: torch.dtype, *, rounded: torch.dtype = torch.float32
) -> LoraPolicy:
    """The same weights for every device and dtype; `rounded`: to this dtype's values first."""
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(name, **SIZES | ARCHITECTURES[name])
    ).float()
    with torch.no_grad():
        # Freshly drawn models are almost uniform; wider embeddings give them opinions worth comparing.
        model.get_input_embeddings().weight.mul_(8)
    model = model.to(rounded).to(dtype).to(device).eval().requires_grad_(False)
    if device == "cpu":
        model.set_experts_implementation("eager")  # the grouped product knows no float64
    host = LocalHost(LoadedModel(model, (1,), 1024))
    policy = host.create_policy("policy", rank=8, alpha=16.0, targets="all-linear", seed=0)
    move(policy, scale=0.05)
    policy.host = host  # type: ignore[attr-defined]
    return policy


def _plain(policy: LoraPolicy, rows: Sequences) -> Result:
    """By the whole model's logits, a row at a time, without any of the policy's own code."""
    parameters = list(policy.trained.list)
    weights = _weights(rows).tolist()
    logprobs, gradient = [], [torch.zeros_like(parameter) for parameter in parameters]
    tokens = float(sum(map(len, rows.completions)))
    with policy._activate(policy.name):
        for prompt, completion, weight in zip(rows.prompts, rows.completions, weights, strict=True):
            ids = torch.tensor([[*prompt, *completion]], device=policy._model.device)
            logits = policy._model(ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / rows.temperature
            picked = torch.log_softmax(logits, -1).gather(-1, ids[0, len(prompt) :, None])[:, 0]
            parts = torch.autograd.grad(picked.sum() * weight / tokens, parameters, allow_unused=True)
            for total, part in zip(gradient, parts, strict=True):
                if part is not None:
                    total += part
            logprobs.append(picked.detach())
    return Result(torch.cat(logprobs).double().cpu(), _flat(gradient))


def _trained(policy: LoraPolicy, rows: Sequences) -> Result:
    """By `forward_backward`, as a job computes it."""
    policy._optimizer.zero_grad(set_to_none=True)
    every = torch.ones(len(rows), dtype=torch.bool)
    tokens = float(sum(map(len, rows.completions)))
    ran = policy.forward_backward(Batch(rows, {"weights": _weights(rows)}, every, tokens), _loss)
    logprobs = [ran.scores.logprobs[row, : len(ids)] for row, ids in enumerate(rows.completions)]
    gradient = [
        torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for parameter in policy.trained.list
    ]
    return Result(torch.cat(logprobs).double().cpu(), _flat(gradient))


def _loss(scores: object, tensors: Mapping[str, Tensor]) -> object:
    return weighted(scores, tensors)  # type: ignore[arg-type]


def _weights(rows: Sequences) -> Tensor:
    return torch.linspace(-1.0, 1.5, len(rows))


def _flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().double().cpu().flatten() for tensor in tensors])


def _sampled(label: str, policy: LoraPolicy, dtype: torch.dtype) -> Iterator[Row]:
    """What the in-process engine samples has the log-probabilities that the trainer gives it."""
    host: LocalHost = policy.host  # type: ignore[attr-defined]
    engine = TransformersEngine(policy._model, lambda rows: ["" for _ in rows], host.sampling_as)
    prompts = [tuple(range(5, 5 + length)) for length in (70, 9)]
    sampling = Sampling(24, 1.0, stop_ids=(1,))
    requests = [
        GenerateRequest(policy.name, 1, prompt, 4, sampling, NoiseKey(0, Stream.TRAIN, 1, number), number)
        for number, prompt in enumerate(prompts)
    ]
    pairs = asyncio.run(_generate(engine, policy.name, requests))
    rows = Sequences([prompt for prompt, _ in pairs], [sample.token_ids for _, sample in pairs], 1.0)
    scores = policy.log_probs(rows).logprobs.double().cpu()
    gaps = torch.cat(
        [
            (scores[row, : len(sample.logprobs)] - torch.tensor(sample.logprobs).double()).abs()
            for row, (_, sample) in enumerate(pairs)
        ]
    )
    if dtype == torch.float32:
        yield at_most(f"{label}: largest gap of the sampler", float(gaps.max()), FLOAT32_GAP, "nats")
    else:
        yield at_most(f"{label}: mean gap of the sampler", float(gaps.mean()), 0.05, "nats")


async def _generate(
    engine: TransformersEngine, policy: str, requests: list[GenerateRequest]
) -> list[tuple[tuple[int, ...], "object"]]:
    await engine.publish(policy, 1)
    return [
        (answer.request.prompt_ids, sample)
        async for answer in engine.generate(requests)
        for sample in answer.samples
    ]


def _short(dtype: torch.dtype) -> str:
    return "bf16" if dtype == torch.bfloat16 else "float32"
