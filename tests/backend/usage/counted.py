"""Reads a project's usage for tests."""

from typing import Any

from tests.backend.people import made
from tests.backend.server import Backend


def usage(backend: Backend, days: int = 30) -> dict[str, Any]:
    return made(backend.api.get("/usage", params={"days": days}), 200)


def of(backend: Backend, source: str) -> dict[str, float]:
    """What a job, deployment, evaluation or reward has used; empty where nothing is counted."""
    amounts = [
        source_row["amounts"] for source_row in usage(backend)["sources"] if source_row["source"] == source
    ]
    assert len(amounts) <= 1
    return dict(amounts[0]) if amounts else {}
