"""Named algorithm presets. The trainer does not depend on their names."""

from copy import deepcopy
from typing import Any

from reinforge.algorithm import plugins
from reinforge.presets.agents import AGENTS
from reinforge.presets.base import Preset
from reinforge.presets.baselines import BASELINES
from reinforge.presets.credit import CREDIT
from reinforge.presets.objectives import OBJECTIVES
from reinforge.presets.recipes import RECIPES
from reinforge.presets.rewards import REWARDS
from reinforge.presets.selections import SELECTIONS

__all__ = ["FAMILIES", "PRESETS", "Preset", "apply_preset", "family_of", "merge", "with_recipe"]

FAMILIES: dict[str, dict[str, Preset]] = {
    "baselines": BASELINES,
    "objectives": OBJECTIVES,
    "credit": CREDIT,
    "rewards": REWARDS,
    "selections": SELECTIONS,
    "agents": AGENTS,
    "recipes": RECIPES,
}
PRESETS: dict[str, Preset] = {name: preset for family in FAMILIES.values() for name, preset in family.items()}

if own := plugins.own_presets(PRESETS):
    FAMILIES["own"] = own
    """Presets of installed packages."""
    PRESETS |= own


def family_of(name: str) -> str:
    for family, presets in FAMILIES.items():
        if name in presets:
            return family
    raise KeyError(name)


def withdraw(name: str, reason: str) -> None:
    plugins.withdraw(name, reason)
    del PRESETS[name]
    if not FAMILIES["own"]:
        del FAMILIES["own"]


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Update `base` recursively with `over`. Objects whose `type` changes are replaced as a whole."""
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
    """Add a preset's values to a job, whose own take precedence."""
    if not isinstance(value, dict) or not isinstance(value.get("algorithm"), dict):
        return value
    name = value["algorithm"].get("preset", "grpo")
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is None:
        return value
    return merge(deepcopy({**preset.job, "algorithm": preset.slots}), value)


def with_recipe(value: dict[str, Any]) -> dict[str, Any]:
    """Add a preset's published numbers to a job, whose own take precedence. Raises KeyError if unknown."""
    preset = PRESETS[value.get("algorithm", {}).get("preset", "grpo")]
    return merge(deepcopy(preset.recipe), value)
