"""A backend per test file; tests of one file share it and keep to their own jobs."""

from collections.abc import Iterator

import pytest

from tests.backend.server import Backend


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(module_database_url, tmp_path_factory.mktemp("home")) as running:
        running.register()
        yield running


@pytest.fixture(scope="module")
def rpc_backend(backend: Backend) -> Iterator[Backend]:
    """The backend with a worker that agrees to everything."""
    with backend.rpc_worker():
        yield backend
