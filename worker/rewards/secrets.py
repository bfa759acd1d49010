"""Reads the judges' keys, the signing secret and the job's token from the environment."""

import json
from dataclasses import asdict, dataclass, field

from worker.machine import settings

VARIABLE = settings.REWARD_SECRETS


@dataclass(frozen=True, slots=True)
class Secrets:
    judges: dict[str, str] = field(default_factory=dict, repr=False)
    signing: str | None = field(default=None, repr=False)
    backend_url: str | None = None
    job_token: str | None = field(default=None, repr=False)
    """The job's token, set with `backend_url` for agent jobs, whose trainer answers model calls."""

    def environment(self) -> dict[str, str]:
        values = {name: value for name, value in asdict(self).items() if value}
        return {VARIABLE: json.dumps(values)} if values else {}


def take_secrets() -> Secrets:
    """Read the secrets and remove them from the environment, so that child processes do not inherit them."""
    values = json.loads(settings.take_reward_secrets())
    return Secrets(
        dict(values.get("judges") or {}),
        values.get("signing"),
        values.get("backend_url"),
        values.get("job_token"),
    )
