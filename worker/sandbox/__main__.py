"""Run the sandbox daemon: ``python -m worker.sandbox --socket PATH [--pool N]``."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from .daemon import Sandboxd
from .outcome import SandboxStatus


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM; 1 when the socket cannot be opened."""
    parser = argparse.ArgumentParser(
        prog="python -m worker.sandbox", description="Runs reward code in jails."
    )
    parser.add_argument(
        "--socket", type=Path, required=True, help="path of the Unix socket, at most 107 bytes"
    )
    parser.add_argument(
        "--pool", type=int, default=min(2, os.cpu_count() or 1), help="jails that run at once"
    )
    options = parser.parse_args(arguments)
    if options.pool < 1:
        parser.error("--pool must be at least 1")
    try:
        asyncio.run(_serve(options.socket, options.pool))
    except OSError as error:
        sys.stderr.write(f"sandboxd: {error}\n")
        return 1
    return 0


async def _serve(path: Path, size: int) -> None:
    await Sandboxd(path, size).serve(_announce)


def _announce(status: SandboxStatus) -> None:
    proved = f"jail {status.jail} proved"
    sys.stderr.write(
        f"sandboxd: {proved if status.available else 'code rewards are off: ' + '; '.join(status.reasons)}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
