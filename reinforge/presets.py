"""Named algorithm presets. A preset only fills slots; nothing in the trainer knows its name."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "grpo": {},
    "dr_grpo": {
        "advantage": {"type": "dr_grpo"},
        "loss": {"aggregation": {"type": "constant"}},
    },
}
"""Slots that differ from the defaults of `reinforge.spec.Algorithm`.

`grpo`: Shao et al. 2024 (DeepSeekMath), eq. 3 with β = 0.
`dr_grpo`: Liu et al. 2025 (Understanding R1-Zero-like training): no division by the standard
deviation, a constant in place of each completion's length.
"""


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
    """Fill the slots of a raw job specification from `algorithm.preset`; other values pass through."""
    if not isinstance(value, dict) or not isinstance(value.get("algorithm"), dict):
        return value
    name = value["algorithm"].get("preset", "grpo")
    if name is None:
        return value
    if name not in PRESETS:
        raise ValueError(f"algorithm.preset: unknown preset {name!r}; known: {', '.join(sorted(PRESETS))}")
    return {**value, "algorithm": merge(PRESETS[name], value["algorithm"])}
