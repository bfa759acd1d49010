"""Every environment variable that the product reads is in the settings table of docs/install.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = ("REINFORGE_", "SANDBOX_")
INTERNAL = {
    "REINFORGE_CONTAINER",
    "REINFORGE_GPU_SHARE",
    "REINFORGE_RECORD_FD",
    "REINFORGE_REWARD_SECRETS",
    "REINFORGE_RUN",
    "REINFORGE_SANDBOX_CANARY",
}
"""One process or image sets them for another; nobody else does."""


OTHERS = {"DATABASE_URL", "REDIS_URL", "STORAGE_URL", "S3_ENDPOINT_URL", "HF_ENDPOINT"}
"""Variables of the product without one of its prefixes."""


def variables_read() -> set[str]:
    names: set[str] = set()
    for package in ("backend", "worker", "reinforge"):
        for path in (ROOT / package).rglob("*.py"):
            quoted = set(re.findall(r"""["']([A-Z][A-Z0-9_]+)["']""", path.read_text()))
            names |= {name for name in quoted if name.startswith(PREFIXES) or name in OTHERS}
    return names


def table_names() -> set[str]:
    settings = (ROOT / "docs" / "install.md").read_text().partition("## Settings")[2].partition("\n## ")[0]
    names = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", settings))
    return {name for name in names if name.startswith(PREFIXES) or name in OTHERS}


def test_each_variable_is_in_the_table_of_settings() -> None:
    assert sorted(variables_read() - table_names() - INTERNAL) == []


def test_the_table_names_no_variable_that_nothing_reads() -> None:
    assert sorted(table_names() - variables_read()) == []


def test_internal_variables_are_read_and_not_in_the_table() -> None:
    assert sorted(INTERNAL - variables_read()) == []
    assert sorted(INTERNAL & table_names()) == []
