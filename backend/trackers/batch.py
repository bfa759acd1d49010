"""Content of one export attempt: facts of the job, the steps since the last attempt, the job's end."""

import json
from dataclasses import dataclass, field
from typing import Any


class ExportFailure(Exception):
    """Failure of an export attempt. Its message never contains a key."""


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
    job_id: str
    name: str
    job_url: str
    notes: str
    tags: list[str]
    started: float
    config: dict[str, Any]
    steps: list[ExportSteps]
    last: int
    """Last step of this batch or of earlier ones."""
    first: bool
    status: str | None = None
    ended: float = 0.0
    summary: dict[str, Any] = field(default_factory=dict)

    def without_key(self, text: str) -> str:
        """`text` without the key, which a tracker may repeat in its answer."""
        return text.replace(self.key, "…") if self.key else text


@dataclass(frozen=True, slots=True)
class ExportResult:
    run_id: str
    run_url: str | None


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten a configuration to dotted path → string; lists are JSON."""
    texts: dict[str, str] = {}
    for key, value in config.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            texts |= flat(value, f"{path}.")
        elif value is not None:
            texts[path] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return texts
