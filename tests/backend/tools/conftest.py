"""An RPC worker with a real sandbox."""

from tests.backend.rewards.conftest import live_backend

__all__ = ["live_backend"]
