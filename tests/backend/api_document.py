"""The OpenAPI document for tests that are made for each of its operations."""

import functools
from typing import Any

from backend.main import create_app


@functools.cache
def api_document() -> dict[str, Any]:
    """Made once per process, since every process that collects needs it: 3 s of CPU time. Callers do not change it."""
    return create_app().openapi()
