"""A sandbox for the rewards of agents' jobs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.offline.train import sandbox


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("s") / "sandbox.sock"
    with sandbox(path, path.parent):
        yield path
