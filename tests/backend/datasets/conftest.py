"""A backend whose object store is a bucket."""

from collections.abc import Iterator

import pytest

from tests.backend.server import Backend
from tests.support.s3 import make_bucket


@pytest.fixture(scope="module")
def bucket(s3_environment: str) -> str:
    return make_bucket(s3_environment)


@pytest.fixture(scope="module")
def on_s3(
    other_module_database_url: str, tmp_path_factory: pytest.TempPathFactory, bucket: str
) -> Iterator[Backend]:
    home = tmp_path_factory.mktemp("on-s3")
    with Backend(other_module_database_url, home, storage_url=f"s3://{bucket}/some/prefix") as running:
        yield running
