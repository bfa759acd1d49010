"""The backend of `tests/backend`, one per test file."""

from tests.backend.conftest import backend

__all__ = ["backend"]
