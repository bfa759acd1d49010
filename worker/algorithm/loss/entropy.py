"""Entropy in the loss: a bonus, and training on uncertain tokens only."""

from torch import Tensor

from worker.algorithm.rows import PartSettings, State


def coefficient(settings: PartSettings, state: State) -> float:
    """Coefficient η of the next update: `loss = … - η · mean entropy`.

    `adaptive` (Skywork-OR1, arXiv 2505.22312; TRL `use_adaptive_entropy`): 0 unless the entropy is at or
    below the target.
    """
    if settings["type"] == "none":
        return 0.0
    if settings["type"] == "static":
        return float(settings["coefficient"])
    measured = state.get("measured")
    if measured is None or measured > settings["target"]:
        return 0.0
    return float(state["coefficient"])


def controlled(settings: PartSettings, state: State, measured: float | None) -> State:
    """State of the bonus after an update with mean entropy `measured` (nats).

    The coefficient rises by `step` if `measured` is at most the target, else falls by `step`, within
    [0, maximum].
    """
    if settings["type"] != "adaptive" or measured is None:
        return state
    before = state.get("coefficient", settings["initial"])
    after = before + (settings["step"] if measured <= settings["target"] else -settings["step"])
    return {"coefficient": min(max(after, 0.0), settings["maximum"]), "measured": measured}


def quantile(values: Tensor, q: float) -> Tensor:
    """The q-quantile of values (n,), linearly interpolated. `torch.quantile` allows 16 million values."""
    ordered = values.double().sort().values
    position = round(q * (len(ordered) - 1), 9)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def top_entropy(entropies: Tensor, mask: Tensor, share: float) -> Tensor:
    """(N, T) bool: tokens at or above the (1 - share) quantile of the batch's entropies (Wang et al. 2025; TRL
    `get_high_entropy_mask`).
    """
    if not bool(mask.any()):
        return mask
    return mask & (entropies.double() >= quantile(entropies[mask], 1 - share))


def policy_tokens(settings: PartSettings, mask: Tensor, entropies: Tensor | None) -> Tensor:
    """(N, T) bool: tokens whose policy term counts. entropies: (N, T) nats before the update."""
    if settings["type"] == "all":
        return mask
    if entropies is None:
        raise ValueError("policy_tokens 'top_entropy' needs the entropies of the optimizer batch")
    return top_entropy(entropies, mask, settings["share"])
