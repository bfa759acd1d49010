"""Uploads of the files that a job names."""

from pathlib import Path
from typing import Any

from reinforge.client import Reinforge


def push_files(client: Reinforge, job: dict[str, Any]) -> None:
    """Upload the dataset and reward files of a job, and replace their paths in `job` by ids."""
    data, rewards = job.get("data"), job.get("rewards")
    for key in ("dataset", "held_out"):
        if isinstance(data, dict) and key in data:
            data[key] = push_dataset(client, data[key])
    for reward in rewards if isinstance(rewards, list) else []:
        path = reward.pop("path", None) if isinstance(reward, dict) else None
        if path:
            detail = client.rewards.push(
                path, entry=reward.get("entry"), granularity=reward.get("granularity", "sample")
            )
            reward["reward"] = detail.id


def push_dataset(client: Reinforge, value: Any) -> Any:
    """Upload the dataset if `value` is the path of a file, and return its id; else return `value`."""
    if isinstance(value, str) and value and Path(value).is_file():
        return client.datasets.push(value).id
    return value
