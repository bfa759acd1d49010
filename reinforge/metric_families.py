"""Metrics that are named by what a job has: its rewards and their parts, k of pass@k, values of a column."""

import re

from reinforge.metric_definitions import Metric

_AT_K = {
    "pass": ("share", "Probability that at least one of {k} completions of a held-out row passes."),
    "best": ("reward", "Expected best reward of {k} completions of a held-out row."),
    "maj": (
        "share",
        "Probability that the most frequent answer of {k} completions of a held-out row passes.",
    ),
}
_AT_K_KEY = re.compile(r"held_out/(pass|best|maj)@\d+(/low|/high)?")
_OF_SLICES = {
    "reward_mean": ("reward", "Mean combined reward"),
    "pass_share": ("share", "Completions that pass"),
    "length_mean": ("tokens", "Mean tokens per completion"),
    "kl_mean": ("nat", "Mean over completions of the k3 estimate per token between policy and reference"),
}


def of_family(key: str) -> Metric:
    """`reward/<name>/mean`, `…/part/<part>`, `…/label/<label>` per reward and the same under `held_out/`,
    `held_out/pass@<k>` with `…/low` and `…/high`, `slice/<value>/…` per value of `data.columns.slice`."""
    if _AT_K_KEY.fullmatch(key):
        return _at_k(key)
    if key.startswith(("slice/", "held_out/slice/")) and key.rsplit("/", 1)[1] in _OF_SLICES:
        return _of_slice(key)
    if key.startswith(("reward/", "held_out/")) and key.count("/") >= 2:
        return _of_reward(key)
    return Metric(key, "", key, "")


def _of_reward(key: str) -> Metric:
    """Of one reward or one part of it, on the step's completions or on held-out ones."""
    split, name = key.split("/", 1)
    rows, held_out = ("held-out", "Held-out ") if split == "held_out" else ("the step's", "")
    if "/label/" in name:
        name, _, label = name.partition("/label/")
        meaning = f"Share of {rows} labelled completions that {name} calls {label}."
        return Metric(key, "share", f"{held_out}{name}: {label}", meaning)
    if name.endswith("/spared"):
        title = f"{held_out}spared {name.removesuffix('/spared')}"
        meaning = f"Share of {rows} completions that a gate kept away from this part."
        return Metric(key, "share", title[0].upper() + title[1:], meaning)
    title = f"{held_out}reward {name}"
    meaning = f"Mean over {rows} completions where it applies."
    return Metric(key, "reward", title[0].upper() + title[1:], meaning, "", "higher")


def _at_k(key: str) -> Metric:
    name, _, end = key.removeprefix("held_out/").partition("/")
    kind, _, k = name.partition("@")
    unit, meaning = _AT_K[kind]
    edge = {"low": ", lower end", "high": ", upper end"}.get(end, "")
    reading = (
        "End of the 95 % bootstrap interval over rows." if end else "Estimated from all samples of a row."
    )
    return Metric(key, unit, f"{name}{edge}", meaning.format(k=k), reading, "higher")


def _of_slice(key: str) -> Metric:
    *_, value, name = key.split("/")
    unit, meaning = _OF_SLICES[name]
    rows = "held-out rows" if key.startswith("held_out/") else "the step's rows"
    return Metric(key, unit, f"{meaning}, {value}", f"{meaning} on {rows} of slice {value}.")
