"""Rewards to start from: real `.py` files, each with an example that shows what it pays for.

for template in templates():
    print(template.id, template.title)
"""

from functools import cache
from importlib.resources import files

from reinforge.errors import NotFound
from reinforge.reward_templates.catalogue import CATALOGUE
from reinforge.schemas.rewards import RewardTemplate


@cache
def templates() -> tuple[RewardTemplate, ...]:
    """All of them, simple ones first."""
    folder = files(__name__) / "sources"
    return tuple(
        RewardTemplate(id=id, source=(folder / f"{id}.py").read_text(encoding="utf-8"), **about)
        for id, about in CATALOGUE.items()
    )


def template(id: str) -> RewardTemplate:
    """Raises NotFound `template_not_found`."""
    for each in templates():
        if each.id == id:
            return each
    raise NotFound(
        f"There is no reward template {id!r}.",
        code="template_not_found",
        hint=f"There are: {', '.join(CATALOGUE)}.",
    )
