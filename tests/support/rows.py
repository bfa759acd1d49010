"""End-to-end tests run in two rows side by side: each row on one worker, in the order of its files.

xdist's own groups rely on renaming tests, which pytest 9.2 does not let it do any more.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

LAST_OF_THE_PLATFORM = 6
"""Files up to this number are about the platform, the later ones about the page."""


class Rows(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return row_of(nodeid)


def row_of(nodeid: str) -> str:
    number = int(nodeid.partition("::")[0].rpartition("/test_")[2].split("_")[0])
    return "platform" if number <= LAST_OF_THE_PLATFORM else "page"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Rows | None:
    return Rows(config, log) if config.getvalue("dist") == "loadgroup" else None
