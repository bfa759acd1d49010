"""Default names of jobs, unique in their project, such as `starter-arith on sums60, lr 0.02`."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Job
from reinforge.presets import PRESETS

LONGEST = 200
MOST_DIFFERENCES = 3
_LABELS = {
    "optimizer.learning_rate": "lr",
    "limits.steps": "steps",
    "rollout.completions_per_prompt": "group",
    "rollout.max_completion_tokens": "tokens",
    "seed": "seed",
}
"""Labels of settings by path, the most informative first."""
_UNNAMED = ("name", "metadata", "export", "model", "adapter.start", "data.dataset", "judges")


async def unique_name(session: AsyncSession, project_id: str, base: str, spec: Mapping[str, Any]) -> str:
    """`base` if no job has the name, else `base` with settings that differ from that job, numbered if
    needed.
    """
    lock = func.pg_advisory_xact_lock(func.hashtextextended(f"job names of {project_id}", 0))
    await session.execute(select(lock))
    base = base[:LONGEST]
    jobs = select(Job).where(Job.project_id == project_id, Job.purpose == "train")
    namesake = await session.scalar(jobs.where(Job.name == base).order_by(Job.created_at, Job.id).limit(1))
    if namesake is None:
        return base
    changed = differences(namesake.resolved_spec, spec)[:MOST_DIFFERENCES]
    longer = ", ".join([base, *changed])
    if len(longer) > LONGEST:
        longer = base
    prefix = longer[: LONGEST - 8]
    names = select(Job.name).where(Job.project_id == project_id, Job.purpose == "train")
    taken = set(await session.scalars(names.where(Job.name.startswith(prefix, autoescape=True))))
    if longer not in taken:
        return longer
    number = 2
    while f"{prefix} {number}" in taken:
        number += 1
    return f"{prefix} {number}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Settings of `after` that differ from `before`, in words: `["DAPO", "lr 0.02"]`."""
    words = []
    old_preset, preset = before["algorithm"].get("preset"), after["algorithm"].get("preset")
    if preset != old_preset:
        words.append(PRESETS[preset].title if preset in PRESETS else str(preset or "own algorithm"))
    old_rewards, rewards = _reward_names(before), _reward_names(after)
    if rewards != old_rewards:
        words.append(" + ".join(rewards))
    old, new = dict(_leaves(before)), dict(_leaves(after))
    paths = [path for path in new if new[path] != old.get(path) and _is_named(path, preset != old_preset)]
    first = list(_LABELS)
    paths.sort(key=lambda path: (first.index(path) if path in first else len(first), path))
    return words + [f"{_label(path)} {_text(new[path])}" for path in paths]


def _reward_names(spec: Mapping[str, Any]) -> list[str]:
    return [reward["name"] for reward in spec["rewards"]]


def _leaves(part: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in part.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}.")
        elif isinstance(value, str | int | float) and len(str(value)) <= 40:
            yield path, value


def _is_named(path: str, preset_differs: bool) -> bool:
    if path == "algorithm.preset" or (preset_differs and path.startswith("algorithm.")):
        return False
    return not any(path == one or path.startswith(f"{one}.") for one in _UNNAMED)


def _label(path: str) -> str:
    return _LABELS.get(path) or path.rpartition(".")[2].replace("_", " ")


def _text(value: str | float) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
