"""What tests read of a project's usage."""

from typing import Any

from tests.backend.people import made
from tests.backend.server import Backend


def usage(backend: Backend, days: int = 30) -> dict[str, Any]:
    return made(backend.api.get("/usage", params={"days": days}), 200)


def of(backend: Backend, source: str) -> dict[str, float]:
    """What a job, deployment, evaluation or reward has used; empty where nothing is counted."""
    found = [each["amounts"] for each in usage(backend)["sources"] if each["source"] == source]
    assert len(found) <= 1
    return dict(found[0]) if found else {}
