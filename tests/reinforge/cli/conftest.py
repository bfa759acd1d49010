"""A backend and the command line in the test's process."""

import sys
from collections.abc import Iterator

import pytest

from reinforge.cli import main as cli
from reinforge.cli import output
from tests.backend.server import OWNER_KEY, Backend
from tests.support.command_line import Cli, Printed


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(module_database_url, tmp_path_factory.mktemp("home")) as running, running.rpc_worker():
        running.add_model()
        yield running


@pytest.fixture
def run(backend: Backend, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process: what it prints, as the terminal's reader sees it, and its exit code."""
    for name in ("REINFORGE_HOME", "DATABASE_URL", "STORAGE_URL"):
        monkeypatch.delenv(name, raising=False)  # those of this machine's platform: `make` sets the first
    monkeypatch.setenv("REINFORGE_URL", backend.url)
    monkeypatch.setenv("REINFORGE_API_KEY", OWNER_KEY)
    # The consoles are made on import, when COLUMNS may have been set: a long path would be broken in two.
    for console in (output.out, output.err):
        monkeypatch.setattr(console, "width", 10_000)

    def call(*arguments: str) -> Printed:
        monkeypatch.setattr(sys, "argv", ["reinforge", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return Printed(int(ended.value.code or 0), printed.out, " ".join(printed.err.split()))

    return call
