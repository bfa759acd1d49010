"""Named algorithm presets. A preset only fills slots; nothing in the trainer knows its name."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Preset:
    """A way to fill the slots of `reinforge.spec.Algorithm`, and what a person needs to choose it."""

    title: str
    summary: str
    """A paragraph: what it does, when to choose it."""
    source: str
    """Paper and equation."""
    slots: dict[str, Any]
    """Those that differ from the defaults."""


PRESETS: dict[str, Preset] = {
    "grpo": Preset(
        title="GRPO",
        summary=(
            "Samples several completions of each prompt and compares every reward with the mean of its group, in "
            "units of the group's spread. Each completion counts the same, however long it is. Choose it first: it "
            "is the best known of its kind and steady at almost any scale of reward. Two things to know: prompts "
            "that are nearly always right or nearly always wrong weigh as much as the others, and among wrong "
            "completions a long one is punished less per token, so that lengths can grow without need."
        ),
        source="Shao et al. 2024, DeepSeekMath (arXiv 2402.03300), eq. 3, without the KL term (β = 0)",
        slots={},
    ),
    "dr_grpo": Preset(
        title="Dr. GRPO",
        summary=(
            "GRPO without its two divisions: rewards are compared with their group's mean but not divided by its "
            "spread, and losses are summed over tokens and divided by a constant instead of each completion's own "
            "length. This takes away the pull towards long wrong answers and towards prompts that are very easy or "
            "very hard. Choose it when completions grow longer without getting better, or when rewards are shaped "
            "in several parts whose sizes mean something. Gradients follow the size of the rewards: keep them "
            "around 0 to 1."
        ),
        source="Liu et al. 2025, Understanding R1-Zero-Like Training (arXiv 2503.20783), section 3",
        slots={
            "advantage": {"type": "dr_grpo"},
            "loss": {"aggregation": {"type": "constant"}},
        },
    ),
}


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` wins; tagged parts (with `type`) are replaced whole when their type differs."""
    out = dict(base)
    for key, value in over.items():
        old = out.get(key)
        same = (
            isinstance(old, dict)
            and isinstance(value, dict)
            and value.get("type", old.get("type")) == old.get("type")
        )
        out[key] = merge(old, value) if same and isinstance(old, dict) else value
    return out


def apply_preset(value: Any) -> Any:
    """Fill the slots of a raw job specification from `algorithm.preset`; other values pass through.

    So does an unknown name, which `Algorithm` refuses in its field.
    """
    if not isinstance(value, dict) or not isinstance(value.get("algorithm"), dict):
        return value
    name = value["algorithm"].get("preset", "grpo")
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is None:
        return value
    return {**value, "algorithm": merge(preset.slots, value["algorithm"])}
