"""TRL 1.16.0's own loss code and ours on the same random tensors: value and gradient to 1e-5.

Where the two differ by design, the case says so: TRL averages a window of micro-batches, we the optimizer batch; a
row without tokens counts for TRL and not for us (none here).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from reinforge.algorithm.loss import Loss
from worker.algorithm.loss.losses import policy_loss
from worker.algorithm.loss.optimizer_batch import OptimizerBatch, batch_constants, loss_inputs
from worker.algorithm.loss.state import advance_loss

if TYPE_CHECKING:
    from tests.algorithm.trl_code import TrlCode

ATOL = 1e-5
SEEDS = range(3)
Slots = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Tensors of 9 completions, up to 8 tokens each; (9, 8) float64 but for `advantages` (9,)."""

    mask: Tensor
    logprobs: Tensor
    old: Tensor
    reference: Tensor
    sampler: Tensor
    entropies: Tensor
    advantages: Tensor

    @property
    def lengths(self) -> list[int]:
        return list(self.mask.sum(1).tolist())


def numbers(seed: int) -> Numbers:
    source = torch.Generator().manual_seed(seed)

    def noise(scale: float) -> Tensor:
        return scale * torch.randn((9, 8), generator=source, dtype=torch.float64)

    lengths = torch.cat([torch.tensor([8, 1]), torch.randint(1, 9, (7,), generator=source)])
    old = -noise(1.0).abs() - 0.05
    advantages = noise(1.0)[:, 0]
    advantages[2] = 0.0
    sampler = old + noise(0.2)
    sampler[0, 1] = torch.nan
    return Numbers(
        mask=torch.arange(8)[None, :] < lengths[:, None],
        logprobs=old + noise(0.3),
        old=old,
        reference=old + noise(0.5),
        sampler=sampler,
        entropies=noise(1.0).abs().float().double(),  # TRL rounds its threshold to float32
        advantages=advantages,
    )


def ours(inputs: Numbers, loss: Slots, state: dict[str, Any] | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Value and its gradients by log-probabilities and entropies, through everything the trainer uses."""
    logprobs, entropies = inputs.logprobs.clone().requires_grad_(), inputs.entropies.clone().requires_grad_()
    batch = OptimizerBatch(mask=inputs.mask, entropies=inputs.entropies)
    constants = batch_constants(loss, batch, state or {})
    tensors = {
        "mask": inputs.mask,
        "advantages": inputs.advantages,
        "old_logprobs": inputs.old,
        "reference_logprobs": inputs.reference,
        "sampler_logprobs": inputs.sampler,
        "entropies": entropies,
    }
    parts = policy_loss(logprobs, loss_inputs(tensors | constants), loss)
    return _with_gradients(parts.total / constants["counts"].sum(), logprobs, entropies)


def trl(**options: Any) -> "TrlCode":
    """TRL costs 4 s of CPU time to import, so it is imported by the processes that run these tests alone."""
    from tests.algorithm.trl_code import TrlCode

    return TrlCode(**options)


def theirs(data: Numbers, code: "TrlCode", **more: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    logprobs, entropies = data.logprobs.clone().requires_grad_(), data.entropies.clone().requires_grad_()
    inputs = {"old_per_token_logps": data.old, "ref_per_token_logps": data.reference} | more
    value = code.loss(logprobs, data.mask, data.advantages, entropies=entropies, **inputs)
    return _with_gradients(value, logprobs, entropies)


def _with_gradients(value: Tensor, logprobs: Tensor, entropies: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    gradients = torch.autograd.grad(value, (logprobs, entropies), materialize_grads=True)
    return value.detach(), *gradients


def same(actual: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for part, reference in zip(actual, expected, strict=True):
        torch.testing.assert_close(part, reference.to(part.dtype), rtol=0, atol=ATOL)


def slots(
    surrogate: Slots, average: str, *, level: str = "token", kl: Slots | None = None, **more: Any
) -> Slots:
    aggregation = {"type": average} | ({"length": 16} if average == "constant" else {})
    penalty = {"beta": 0.0, "estimator": "k3"} | (kl or {})
    return {"ratio_level": level, "surrogate": surrogate, "aggregation": aggregation, "kl": penalty, **more}


CLIP = {"type": "ppo_clip", "eps_low": 0.2, "eps_high": 0.28}
EPS = {"epsilon": 0.2, "epsilon_high": 0.28}
SAPO = {"type": "sapo", "tau_pos": 1.3, "tau_neg": 1.9}
VESPO = {"type": "vespo", "k_pos": 2.0, "lambda_pos": 3.0, "k_neg": 3.0, "lambda_neg": 2.0}
K3 = {"beta": 0.04, "estimator": "k3"}
UNBIASED = {"beta": 0.04, "estimator": "unbiased_k3"}

LOSSES: dict[str, tuple[Slots, Slots]] = {
    "grpo": (slots(CLIP, "seq_mean"), {"loss_type": "grpo", **EPS}),
    "bnpo": (slots(CLIP, "token_mean"), {"loss_type": "bnpo", **EPS}),
    "dr_grpo": (slots(CLIP, "constant"), {"loss_type": "dr_grpo", "max_completion_length": 16, **EPS}),
    "dapo": (slots(CLIP, "token_mean"), {"loss_type": "dapo", **EPS}),
    "delta": (slots({**CLIP, "delta": 1.5}, "seq_mean"), {"loss_type": "grpo", "delta": 1.5, **EPS}),
    "dual_clip": (slots({**CLIP, "dual_clip": 1.5}, "seq_mean"), {"loss_type": "grpo", "delta": 1.5, **EPS}),
    "cispo": (
        slots({"type": "cispo", "ratio_cap": 1.2}, "token_mean"),
        {"loss_type": "cispo", "epsilon_high": 1.2},
    ),
    "sapo": (
        slots(SAPO, "seq_mean"),
        {"loss_type": "sapo", "sapo_temperature_pos": 1.3, "sapo_temperature_neg": 1.9},
    ),
    "vespo": (slots(VESPO, "token_mean"), {"loss_type": "vespo"}),
    "gspo": (
        slots(CLIP, "seq_mean", level="sequence"),
        {"loss_type": "grpo", "importance_sampling_level": "sequence", **EPS},
    ),
    "gspo_token": (
        slots(CLIP, "seq_mean", level="gspo_token"),
        {"loss_type": "grpo", "importance_sampling_level": "sequence", **EPS},
    ),
    "luspo": (
        slots(CLIP, "seq_sum_mean", level="sequence"),
        {"loss_type": "luspo", "importance_sampling_level": "sequence", **EPS},
    ),
    "grpo_k3": (
        slots(CLIP, "seq_mean", kl=K3),
        {"loss_type": "grpo", "beta": 0.04, "use_bias_correction_kl": False, **EPS},
    ),
    "dapo_k3": (
        slots(CLIP, "token_mean", kl=K3),
        {"loss_type": "dapo", "beta": 0.04, "use_bias_correction_kl": False, **EPS},
    ),
    "grpo_unbiased_kl": (
        slots(CLIP, "seq_mean", kl=UNBIASED),
        {"loss_type": "grpo", "beta": 0.04, "use_bias_correction_kl": True, **EPS},
    ),
    "dapo_top_entropy": (
        slots(CLIP, "token_mean", kl=K3, policy_tokens={"type": "top_entropy", "share": 0.3}),
        {
            "loss_type": "dapo",
            "top_entropy_quantile": 0.3,
            "beta": 0.04,
            "use_bias_correction_kl": False,
            **EPS,
        },
    ),
    "grpo_entropy": (
        slots(CLIP, "seq_mean", entropy={"type": "static", "coefficient": 0.01}),
        {"loss_type": "grpo", "entropy_coef": 0.01, **EPS},
    ),
    "dapo_entropy_of_top_tokens": (
        slots(
            CLIP,
            "token_mean",
            policy_tokens={"type": "top_entropy", "share": 0.3},
            entropy={"type": "static", "coefficient": 0.01},
        ),
        {"loss_type": "dapo", "top_entropy_quantile": 0.3, "entropy_coef": 0.01, **EPS},
    ),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", LOSSES)
def test_loss(name: str, seed: int) -> None:
    loss, options = LOSSES[name]
    data = numbers(seed)
    same(ours(data, loss), theirs(data, trl(**options)))


@pytest.mark.parametrize("seed", SEEDS)
def test_trajectory_ratio_is_that_of_rloo(seed: int) -> None:
    from tests.algorithm.trl_code import TrlRlooCode

    data = numbers(seed)
    leaf = data.logprobs.clone().requires_grad_()
    code = TrlRlooCode(epsilon_low=0.2, epsilon_high=0.28)
    value = code.loss(leaf, data.mask, data.advantages, data.old)
    (gradient,) = torch.autograd.grad(value, leaf)
    same(ours(data, slots(CLIP, "seq_mean", level="trajectory"))[:2], (value.detach(), gradient))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("behaviour", ["sampler", "old"])
def test_off_policy_sequence_mask(behaviour: str, delta: float, seed: int) -> None:
    data = numbers(seed)
    if behaviour == "old":
        data = Numbers(**{name: getattr(data, name) for name in Numbers.__slots__} | {"sampler": data.old})
    loss = slots(CLIP, "token_mean", kl=K3, off_policy_mask={"type": "sequence", "delta": delta})
    code = trl(
        loss_type="dapo",
        off_policy_mask_threshold=delta,
        beta=0.04,
        use_bias_correction_kl=False,
        **EPS,
    )
    more = {"sampling_per_token_logps": data.sampler} if behaviour == "sampler" else {}
    same(ours(data, loss), theirs(data, code, **more))


CORRECTED = {"grpo": "seq_mean", "dapo": "token_mean", "vespo": "token_mean"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bounds", [(None, 3.0), (0.9, 1.1)], ids=["default", "narrow"])
@pytest.mark.parametrize("mode", ["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"])
@pytest.mark.parametrize("kind", CORRECTED)
def test_mismatch_correction(kind: str, mode: str, bounds: tuple[float | None, float], seed: int) -> None:
    if kind == "vespo" and mode.startswith("sequence"):
        slot = {"surrogate": {"type": "vespo"}, "mismatch": {"type": "importance", "mode": mode}}
        with pytest.raises(ValidationError, match="token_truncate or token_mask"):  # TRL refuses it as well
            Loss.model_validate(slot)
        return
    data, (low, high) = numbers(seed), bounds
    code = trl(
        corrected=True,
        loss_type=kind,
        beta=0.04,
        use_bias_correction_kl=False,
        vllm_importance_sampling_mode=mode,
        vllm_importance_sampling_clip_min=low,
        vllm_importance_sampling_clip_max=high,
        groups_of=3,
        **EPS,
    )
    scored = code.score(
        torch.zeros((9, 1)),
        lengths=data.lengths,
        old_logprobs=data.old * data.mask,
        sampler_logprobs=data.sampler,
        reference_logprobs=data.reference,
    )
    correction = {"type": "importance", "mode": mode, "ratio_max": high, "ratio_min": low}
    loss = slots(VESPO if kind == "vespo" else CLIP, CORRECTED[kind], kl=K3, mismatch=correction)
    ratio = scored["importance_sampling_ratio"]
    same(ours(data, loss), theirs(data, code, importance_sampling_ratio=ratio))


def test_adaptive_entropy_over_several_updates() -> None:
    """The coefficient after each update, and which updates it acts in, are TRL's."""
    entropy = {"type": "adaptive", "target": 0.8, "initial": 0.02, "step": 0.005, "maximum": 0.026}
    loss = slots(CLIP, "token_mean", entropy=entropy)
    code = trl(
        loss_type="dapo",
        use_adaptive_entropy=True,
        entropy_coef=0.02,
        entropy_target=0.8,
        entropy_coef_max=0.026,
        **EPS,
    )
    state: dict[str, Any] = {}
    applied = []
    for seed, scale in enumerate([1.0, 0.5, 0.5, 2.0, 2.0, 0.5, 0.5]):
        base = numbers(seed)
        data = Numbers(
            **{name: getattr(base, name) for name in Numbers.__slots__}
            | {"entropies": scale * base.entropies}
        )
        result = ours(data, loss, state)
        same(result, theirs(data, code))
        applied.append(bool((result[2] != 0).any()))
        measured = float(data.entropies[data.mask].mean())
        state = advance_loss(loss, state, gradients={}, entropy=measured)
        assert state["entropy"]["coefficient"] == pytest.approx(code.entropy_coef)
    assert set(applied) == {True, False}
