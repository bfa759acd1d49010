"""What one attempt sends: facts of the job, the steps since the last attempt, its end."""

import json
from dataclasses import dataclass, field
from typing import Any


class ExportFailure(Exception):
    """The message is shown beside the job; it never contains a key."""


@dataclass(frozen=True, slots=True)
class ExportSteps:
    step: int
    ts: float
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class ExportBatch:
    export_id: str
    kind: str
    url: str
    destination: str
    entity: str | None
    username: str | None
    key: str | None
    run_id: str | None
    """None: not created yet, or not known to be."""
    job_id: str
    name: str
    job_url: str
    notes: str
    tags: list[str]
    started: float
    config: dict[str, Any]
    steps: list[ExportSteps]
    last: int
    """Steps up to it are in this batch or have arrived; some have no metrics."""
    first: bool
    """Nothing has arrived yet: the configuration is sent."""
    status: str | None = None
    """Of a job that has ended, with its last steps in this batch."""
    ended: float = 0.0
    summary: dict[str, Any] = field(default_factory=dict)

    def without_key(self, text: str) -> str:
        """For messages of trackers, which may repeat the key."""
        return text.replace(self.key, "…") if self.key else text


@dataclass(frozen=True, slots=True)
class ExportResult:
    run_id: str
    run_url: str | None


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Dotted path → text; lists are JSON."""
    texts: dict[str, str] = {}
    for key, value in config.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            texts |= flat(value, f"{path}.")
        elif value is not None:
            texts[path] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return texts
