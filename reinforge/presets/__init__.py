"""Named algorithm presets. A preset only fills slots; nothing in the trainer knows its name."""

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
"""Presets by what they change, in the order in which lists show them."""
PRESETS: dict[str, Preset] = {name: preset for family in FAMILIES.values() for name, preset in family.items()}

if own := plugins.own_presets(PRESETS):
    FAMILIES["own"] = own
    """Of installed packages."""
    PRESETS |= own


def family_of(name: str) -> str:
    """The family of a preset. KeyError for an unknown one."""
    for family, presets in FAMILIES.items():
        if name in presets:
            return family
    raise KeyError(name)


def withdraw(name: str, reason: str) -> None:
    """Leave out a package's preset that cannot be used after all."""
    plugins.withdraw(name, reason)
    del PRESETS[name]
    if not FAMILIES["own"]:
        del FAMILIES["own"]


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
    return merge(deepcopy({**preset.job, "algorithm": preset.slots}), value)


def with_recipe(value: dict[str, Any]) -> dict[str, Any]:
    """A raw job specification with its preset's published numbers wherever it gives none. KeyError for an unknown
    preset."""
    preset = PRESETS[value.get("algorithm", {}).get("preset", "grpo")]
    return merge(deepcopy(preset.recipe), value)
