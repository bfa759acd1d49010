"""An RPC worker with a real sandbox, and a client of `/v1`."""

from collections.abc import Iterator

import httpx
import pytest

from tests.backend.rewards.conftest import live_backend
from tests.backend.server import OWNER_KEY, Backend

__all__ = ["live_backend", "wire"]


@pytest.fixture
def wire(rpc_backend: Backend) -> Iterator[httpx.Client]:
    """An owner's client of `/v1`, beside a worker that agrees to everything."""
    with rpc_backend.client(OWNER_KEY, "/v1") as client:
        yield client
