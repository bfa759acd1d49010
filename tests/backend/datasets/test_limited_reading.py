"""Uploaded files are read in processes with little memory and without the server's secrets."""

import asyncio

import pytest

from backend.datasets.inspection import run_child

PRINT = ("timeit", "-n1", "-r1", "import os; print(sorted(os.environ))")


def test_a_child_has_none_of_the_servers_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REINFORGE_DATABASE_URL", "REINFORGE_SECRET_KEY", "REINFORGE_WORKER_TOKEN", "ANY_NAME"):
        monkeypatch.setenv(name, "secret")
    output, status = asyncio.run(run_child(*PRINT))
    assert status == 0 and b"PATH" in output
    assert b"REINFORGE" not in output and b"ANY_NAME" not in output
