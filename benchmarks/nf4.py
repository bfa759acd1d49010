"""A base in NF4 on the CPU: gradients against the same weights written out and against the unquantised base, and bytes
against the estimate.

    python benchmarks/nf4.py
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from common.measure import parser, stamp, write
from torch import Tensor
from transformers import AutoModelForCausalLM

from reinforge.base_models.memory import ModelShape, estimate
from worker.models.inspect import read_facts
from worker.policy import nf4
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel, load_base_model
from worker.policy.lora import base_bytes

STARTER = Path(__file__).resolve().parents[1] / "worker" / "starter" / "starter-arith"
ROWS, PROMPT, COMPLETION = 16, 12, 24


def sequences(vocabulary: int) -> Sequences:
    ids = torch.randint(
        2, vocabulary, (ROWS, PROMPT + COMPLETION), generator=torch.Generator().manual_seed(0)
    )
    return Sequences(ids[:, :PROMPT].tolist(), ids[:, PROMPT:].tolist(), 1.0)


def policy_loss(scores: TokenScores, tensors: Mapping[str, Tensor]) -> LossValue:
    return LossValue((scores.logprobs * tensors["advantages"][:, None]).sum(), {})


def gradient(base: LoadedModel) -> Tensor:
    """Of a policy gradient loss with random advantages, in one vector."""
    policy = LocalHost(base).create_policy("policy", rank=16, alpha=32, targets="all-linear", seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in policy._parameters.items():
            if "lora_B" in key:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.02)
    advantages = torch.randn(ROWS, generator=generator)
    rows = sequences(base.model.config.vocab_size)
    policy.forward_backward(
        Batch(rows, {"advantages": advantages}, torch.ones(ROWS, dtype=torch.bool), float(ROWS)), policy_loss
    )
    parts = policy._parameters
    return torch.cat([parts[key].grad.double().flatten() for key in sorted(parts)])  # type: ignore[union-attr]


def dequantised(folder: Path) -> LoadedModel:
    quantised, base = load_base_model(folder, precision="nf4").model, load_base_model(folder)
    for name, parameter in quantised.named_parameters():
        if nf4.is_nf4(parameter):
            base.model.get_parameter(name).data = nf4.Nf4Weight(parameter).dense().clone()
    return base


def measure(folder: Path) -> dict[str, Any]:
    quantised = gradient(load_base_model(folder, precision="nf4"))
    others = {"dequantised": gradient(dequantised(folder)), "unquantised": gradient(load_base_model(folder))}
    facts = read_facts(folder, {})
    config = nf4.nf4_config(torch.device("cpu"))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, quantization_config=config)
    memory = estimate(facts["parameters"], ModelShape.model_validate(facts["shape"]))
    return {
        "model": folder.name,
        "cosine": {name: float(torch.cosine_similarity(quantised, g, dim=0)) for name, g in others.items()},
        "bytes": {"bfloat16": memory.weights, "nf4": base_bytes(model), "nf4_estimated": memory.weights_nf4},
    }


def main() -> None:
    arguments = parser("A base in NF4 on the CPU.")
    arguments.add_argument("--model", type=Path, default=STARTER)
    write("nf4", stamp("torch", "transformers", "bitsandbytes") | measure(arguments.parse_args().model))


if __name__ == "__main__":
    main()
