"""A base in NF4 on the CPU: gradients against the same weights written out and against the unquantised base, bytes of
weights and adapter against the estimate, and what a job learns with either base.

    python benchmarks/nf4.py [--quick]

The jobs train the starter model on the additions for 60 steps and answer 256 held-out rows at the beginning and at the
end; the runs take 5 minutes on two cores. `--quick` leaves them out and writes nothing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from ahead import job, rows_of
from common.measure import RESULTS, parser, stamp, write
from common.runs import Run, run_all
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
STEPS, HELD_OUT_ROWS = 60, 256


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


def adapter_bytes(folder: Path) -> dict[str, int | None]:
    """Of a float32 adapter of rank 16 with gradients and both moments of AdamW, after a step."""
    base = load_base_model(folder, precision="nf4")
    policy = LocalHost(base).create_policy("policy", rank=16, alpha=32, targets="all-linear", seed=0)
    policy.forward_backward(
        Batch(
            sequences(base.model.config.vocab_size),
            {"advantages": torch.ones(ROWS)},
            torch.ones(ROWS, dtype=torch.bool),
            float(ROWS),
        ),
        policy_loss,
    )
    gradients = sum(p.grad.nbytes for p in policy._parameters.values() if p.grad is not None)
    policy.optimizer_step(learning_rate=1e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, clip_norm=1.0)
    moments = [t for state in policy.trained.optimizer.state.values() for t in state.values()]
    held = [*policy._parameters.values(), *(t for t in moments if isinstance(t, Tensor) and t.dim() > 0)]
    facts = read_facts(folder, {})
    estimated = estimate(facts["parameters"], ModelShape.model_validate(facts["shape"])).adapter
    return {"measured": sum(t.nbytes for t in held) + gradients, "estimated": estimated}


def learning() -> dict[str, Any]:
    """Mean held-out reward before and after 60 steps with either base."""
    folder = RESULTS / "nf4"
    data = rows_of(folder / "data", HELD_OUT_ROWS)
    runs = [
        Run(
            name=precision,
            seed=0,
            spec=job(0, data, steps=STEPS, rows=HELD_OUT_ROWS) | {"base": {"precision": precision}},
        )
        for precision in ("full", "nf4")
    ]
    results = run_all(runs, folder, jobs=2)
    if failed := [result for result in results if not result.ok]:
        raise SystemExit(f"{failed[0].name}: {failed[0].cause}")
    rewards = {one.name: one.held_out["held_out/reward_mean"] for one in results}
    return {"steps": STEPS, "rows": HELD_OUT_ROWS, "held_out_reward": rewards}


def main() -> None:
    options = parser("A base in NF4 on the CPU.")
    options.add_argument("--model", type=Path, default=STARTER)
    arguments = options.parse_args()
    origin = stamp("torch", "transformers", "bitsandbytes")
    result = measure(arguments.model) | {"adapter_bytes": adapter_bytes(arguments.model)}
    if arguments.quick:
        print(result)
    else:
        write("nf4", origin | result | {"learning": learning()})


if __name__ == "__main__":
    main()
