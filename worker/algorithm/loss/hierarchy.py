"""IH-GRPO's term: calling a tool and choosing a token as two decisions of one softmax (arXiv 2605.18500).

With p the probability of the execute token and log Z = log Σ_{v ≠ execute} exp(logit_v), a token's correction
is c = (stop_gradient(1 - p) - 1[it is another token])·log Z. At λ = 1 and ratio 1, loss + λ·Σ c·(policy loss)
has the logit gradient of two separate heads.
"""

import torch
from torch import Tensor


def hierarchy_correction(logits: Tensor, logprobs: Tensor, executed: Tensor) -> Tensor:
    """The correction c of each position, with gradient. logits, logprobs: of the execute token. executed:
    bool, whether the execute token was sampled.
    """
    logprobs = logprobs.clamp(max=-1e-7)
    rest = torch.log(-torch.expm1(logprobs))
    log_z = logits - logprobs + rest
    return (rest.detach().exp() - (~executed).to(log_z.dtype)) * log_z
