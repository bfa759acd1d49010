"""Judges' keys and the signing secret from the environment."""

import json
from dataclasses import dataclass, field

from worker.machine import settings

VARIABLE = settings.REWARD_SECRETS


@dataclass(frozen=True, slots=True)
class Secrets:
    judges: dict[str, str] = field(default_factory=dict, repr=False)
    signing: str | None = field(default=None, repr=False)

    def environment(self) -> dict[str, str]:
        if not self.judges and self.signing is None:
            return {}
        return {VARIABLE: json.dumps({"judges": self.judges, "signing": self.signing})}


def take_secrets() -> Secrets:
    """Remove the secrets from the environment: child processes do not inherit them."""
    values = json.loads(settings.take_reward_secrets())
    return Secrets(dict(values.get("judges") or {}), values.get("signing"))
