"""Entropy in the loss: a bonus with a fixed or a controlled coefficient, and training on uncertain tokens only."""

from torch import Tensor

from worker.algorithm.rows import PartSettings, State


def coefficient(settings: PartSettings, state: State) -> float:
    """η for the next update: `loss = … - η · mean entropy`.

    `adaptive` (Skywork-OR1, arXiv 2505.22312; TRL `use_adaptive_entropy`) applies its coefficient only while the
    entropy measured at the last update is at or below the target; before the first there is none.
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
    """The state after an update whose tokens had this mean entropy (nats; None where there were none).

    The coefficient rises by `step` at or below the target, else falls by it, and stays within [0, maximum].
    """
    if settings["type"] != "adaptive" or measured is None:
        return state
    before = state.get("coefficient", settings["initial"])
    after = before + (settings["step"] if measured <= settings["target"] else -settings["step"])
    return {"coefficient": min(max(after, 0.0), settings["maximum"]), "measured": measured}


def quantile(values: Tensor, q: float) -> Tensor:
    """Linear interpolation between the sorted values, float64; for any number of them (torch stops at 16 million).

    `values` (n,), n ≥ 1.
    """
    ordered = values.double().sort().values
    position = round(q * (len(ordered) - 1), 9)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def top_entropy(entropies: Tensor, mask: Tensor, share: float) -> Tensor:
    """(N, T) bool: the `share` of the batch's tokens with the highest entropy (Wang et al. 2025, 80/20 rule).

    Kept is what reaches the (1 - share) quantile over the whole optimizer batch (TRL `get_high_entropy_mask`).
    """
    if not bool(mask.any()):
        return mask
    return mask & (entropies.double() >= quantile(entropies[mask], 1 - share))


def policy_tokens(settings: PartSettings, mask: Tensor, entropies: Tensor | None) -> Tensor:
    """(N, T) bool: tokens whose policy term counts. `entropies` (N, T) nats before the update, no gradient."""
    if settings["type"] == "all":
        return mask
    if entropies is None:
        raise ValueError("policy_tokens 'top_entropy' needs the entropies of the optimizer batch")
    return top_entropy(entropies, mask, settings["share"])
