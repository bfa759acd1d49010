"""Descriptions of differences between two runs."""

from typing import Any

from reinforge.offline.reproduce import CheckpointDifference
from reinforge.schemas.divergence import MetricDifference, RowDifference

Sides = tuple[str, str]
_NOUNS = {
    "sampler_logprobs": "log-probability when it was sampled",
    "trainer_logprobs": "log-probability in the update",
    "entropies": "entropy",
    "reward": "reward",
    "advantage": "advantage",
}


def describe(difference: RowDifference | MetricDifference | CheckpointDifference, sides: Sides) -> str:
    """sides: names of the two runs."""
    if isinstance(difference, CheckpointDifference):
        hashes = ", ".join(
            f"{side} {hash[:12]}…" for side, hash in zip(sides, difference.sha256, strict=True)
        )
        return f"step {difference.step}: the adapter's weights ({hashes})"
    place = f"step {difference.step}"
    if isinstance(difference, MetricDifference):
        return f"{place}: {difference.kind} metric {difference.key}: {_pair(difference.values, sides)}"
    place += f", {difference.split.replace('_', '-')} prompt {difference.prompt_no}"
    if difference.what == "completions":
        return f"{place}: number of completions of the step: {_pair(difference.values, sides)}"
    if difference.what == "prompt":
        return f"{place}: another prompt was drawn: {_pair(difference.values, sides)}"
    place += f", completion {difference.sample_no}"
    if difference.token is not None:
        place += f", token {difference.token + 1}"
    noun = _NOUNS.get(difference.what)
    text = f"{place}: {f'{noun}: ' if noun else ''}{_pair(difference.values, sides)}"
    context = [f"  prompt      …{difference.prompt[-200:]!r}"] if difference.prompt else []
    context += [f"  completion  …{difference.before[-200:]!r}"] if difference.before else []
    return "\n".join([text, *context])


def _pair(values: list[Any], sides: Sides) -> str:
    return ", ".join(f"{side} {_text(value)}" for side, value in zip(sides, values, strict=True))


def _text(value: Any) -> str:
    return "ended" if value is None else repr(value)
