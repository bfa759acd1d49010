"""Models from shapes, their weights drawn on the device, with a LoRA adapter that has moved away from the base."""

import random
from dataclasses import dataclass

import torch

from common.gpu.rows import Setting
from common.random_model import HALF_B, ONE_AND_A_HALF_B, SEVEN_B, Shape, architecture
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel
from worker.policy.lora import LoraPolicy

SHAPES = {"0.5B": HALF_B, "1.5B": ONE_AND_A_HALF_B, "7B": SEVEN_B}
TINY = Shape(64, 2, 4, 2, 128, 32, 512, 65_536, half=True)
RANK = 16


@dataclass(frozen=True, slots=True)
class Trainable:
    shape: Shape
    host: LocalHost
    policy: LoraPolicy


def shape_of(name: str, setting: Setting) -> Shape:
    return TINY if setting.tiny else SHAPES[name]


def trainable(name: str, setting: Setting) -> Trainable:
    """A model in bf16 on the device with an adapter of rank 16 on all linear layers.

    The tiny one is in bf16 on the CPU too, so that the same paths run.
    """
    shape = shape_of(name, setting)
    torch.manual_seed(0)
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.bfloat16)
        with torch.device(setting.device):
            model = architecture(shape)
    finally:
        torch.set_default_dtype(default)
    model.eval().requires_grad_(False)
    host = LocalHost(LoadedModel(model, (shape.vocabulary,), shape.context))
    policy = host.create_policy("policy", rank=RANK, alpha=2.0 * RANK, targets="all-linear", seed=0)
    move(policy)
    return Trainable(shape, host, policy)


def move(policy: LoraPolicy, scale: float = 0.02) -> None:
    """Give B of every pair random values, so that the adapter changes what the model says."""
    generator = torch.Generator().manual_seed(1)
    weights = policy.weights()
    for name, tensor in weights.items():
        if "lora_B" in name:
            tensor.copy_(scale * torch.randn(tensor.shape, generator=generator))
    policy.load_weights(weights)


def sequences(
    shape: Shape, groups: int, per_group: int, prompt: int, completion: int, *, shortest: int | None = None
) -> Sequences:
    """`groups` random prompts with `per_group` completions each; `shortest`: completions have between this many and
    `completion` tokens."""
    chance = random.Random(0)

    def ids(count: int) -> list[int]:
        return [chance.randrange(shape.vocabulary) for _ in range(count)]

    prompts, completions = [], []
    for _ in range(groups):
        text = ids(prompt)
        for _ in range(per_group):
            prompts.append(text)
            completions.append(ids(completion if shortest is None else chance.randint(shortest, completion)))
    return Sequences(prompts, completions, 1.0)


def batch_of(rows: Sequences) -> Batch:
    """Every row has a gradient, by a weight of its own."""
    weights = torch.linspace(-1.0, 1.0, len(rows) + 1)[1:]
    weights[weights == 0] = 0.5
    tokens = sum(len(ids) for ids in rows.completions)
    return Batch(rows, {"weights": weights}, torch.ones(len(rows), dtype=torch.bool), float(tokens))


def weighted(scores: TokenScores, tensors: dict[str, torch.Tensor]) -> LossValue:
    """A policy gradient whose advantages are the rows' weights."""
    return LossValue((scores.logprobs * tensors["weights"][:, None]).sum(), {})
