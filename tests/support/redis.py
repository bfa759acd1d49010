"""A Redis of a test's own."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import eventually


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[tuple[str, int]]:
    """Its URL and port. Skips the test where none is installed, unless `REINFORGE_REQUIRE_EXTERNAL` says that it has to
    be there, as in CI."""
    program = shutil.which("redis-server")
    if program is None:
        (pytest.fail if os.environ.get("REINFORGE_REQUIRE_EXTERNAL") else pytest.skip)(
            "redis-server is not installed"
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
    process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: _is_listening(port), what="Redis to listen")
        yield f"redis://127.0.0.1:{port}/0", port
    finally:
        process.terminate()
        process.wait()


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
