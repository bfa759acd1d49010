"""Units of tests for xdist workers: a file, files that share a server, or one test that starts its own platform.

xdist's own groups rely on renaming tests, which pytest 9.2 does not let it do any more.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

DEMO = "test_1_demo"
"""The file whose worker runs the demo; the other workers need its home too."""
SINGLE = ("test_6_places", "test_6_signals", "test_8_up")
"""Files of tests that each start a platform of their own."""
LONG = ("test_3_jobs", "test_14_live", "test_16_openai", "test_9_screens")
"""Files that start early, so that no worker is left with one of them at the end."""
ONE_SERVER = tuple(f"tests/worker/rollout/vllm/test_{name}.py" for name in ("engine", "faults", "probe"))
"""Files that share a vLLM server."""
UNTIL_THE_DEMO_HAS_ENDED = 5
"""Single tests that other workers begin with."""


class Units(LoadScopeScheduling):
    """Scheduler that gives the next unit to the first free worker, in the order of collection."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ONE_SERVER):
            return ONE_SERVER[0]
        return nodeid if file_of(nodeid) in SINGLE else nodeid.partition("::")[0]


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0].rpartition("/")[2].removesuffix(".py")


def in_order_of_units(items: list[pytest.Item]) -> list[pytest.Item]:
    """The demo, tests that can do without it, long files, the others, and short units last."""
    files = [file_of(item.nodeid) for item in items]
    pairs = list(zip(files, items, strict=True))
    demo = [item for file, item in pairs if file == DEMO]
    single = [item for file, item in pairs if file in SINGLE]
    long = [item for name in LONG for file, item in pairs if file == name]
    others = [item for file, item in pairs if file not in (DEMO, *SINGLE, *LONG)]
    begin = single[:UNTIL_THE_DEMO_HAS_ENDED]
    return demo + begin + long + others + single[UNTIL_THE_DEMO_HAS_ENDED:]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Units | None:
    return Units(config, log) if config.getvalue("dist") == "loadgroup" else None
