"""Descriptions (cards) of the ready-made rewards in `rewards/`."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from reinforge.errors import NotFound
from reinforge.reward_library.parameters import parameters
from reinforge.schemas.rewards import RewardTemplate

GROUPS: dict[str, tuple[str, ...]] = {
    "Right answers": ("exact_answer", "numeric", "math_equal", "multiple_choice", "several_parts"),
    "Form": ("regex_match", "json_schema", "tool_call", "think_answer"),
    "Length": ("length_linear", "length_cosine", "length_overlong", "shorter_wins"),
    "Language": ("language", "repetition"),
    "Evidence and rubrics": ("quote_check", "rubric", "boxes_iou"),
    "Code": ("code_tests",),
}
"""Ready-made rewards by group, the simplest first."""


def folder(id: str) -> Traversable:
    return files(__package__) / "rewards" / id


def read_yaml(id: str, name: str) -> Any:
    return yaml.safe_load((folder(id) / name).read_text(encoding="utf-8"))


@cache
def library() -> tuple[RewardTemplate, ...]:
    return tuple(_load(group, id) for group, ids in GROUPS.items() for id in ids)


def ready_reward(id: str) -> RewardTemplate:
    """The ready-made reward with this id. Raises NotFound `template_not_found`."""
    for entry in library():
        if entry.id == id:
            return entry
    names = ", ".join(card.id for card in library())
    raise NotFound(
        f"There is no ready-made reward {id!r}.", code="template_not_found", hint=f"There are: {names}."
    )


def _load(group: str, id: str) -> RewardTemplate:
    card = read_yaml(id, "card.yaml")
    if (folder(id) / "reward.yaml").is_file():  # a grader: nothing to write, some fields to set
        source = (folder(id) / "reward.yaml").read_text(encoding="utf-8")
        return RewardTemplate(id=id, group=group, source=source, type=yaml.safe_load(source)["type"], **card)
    source = (folder(id) / "reward.py").read_text(encoding="utf-8")
    return RewardTemplate(id=id, group=group, source=source, parameters=parameters(source), **card)
