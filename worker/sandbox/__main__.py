"""Command line of the sandbox daemon. ``status`` exits with 1 if the daemon does not answer."""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from worker.sandbox import log_lines
from worker.sandbox.client import SandboxClient
from worker.sandbox.daemon.daemon import Sandboxd
from worker.sandbox.jails import JAILS
from worker.sandbox.outcome import SandboxStatus
from worker.sandbox.transport.tls import KeyFile


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m worker.sandbox", description="Runs reward code in jails."
    )
    parser.add_argument("command", nargs="?", choices=("serve", "probe", "status"), default="serve")
    parser.add_argument("--socket", type=Path, help="path of the Unix socket, at most 107 bytes")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="serve other machines, too, over TLS; they need a copy of the key file",
    )
    parser.add_argument(
        "--key-file", type=Path, help="private key and certificate for --listen; created if it does not exist"
    )
    parser.add_argument(
        "--pool", type=int, default=min(2, os.cpu_count() or 1), help="number of jails that run at once"
    )
    parser.add_argument(
        "--jail",
        choices=tuple(JAILS),
        help="use only this jail: N (namespaces) or L (Landlock); default: the strongest that holds",
    )
    options = parser.parse_args(arguments)
    letters = (options.jail,) if options.jail else tuple(JAILS)
    if options.pool < 1:
        parser.error("--pool must be at least 1")
    tcp, key = None, None
    try:
        if options.listen is not None:
            tcp = _host_and_port(options.listen)
            if options.key_file is None:
                parser.error("--listen needs --key-file")
            key = KeyFile.create_if_missing(options.key_file)
    except PermissionError as error:
        parser.error(
            f"{error}: the file must be readable, or its directory writable, by uid {os.geteuid()}, which the sandbox "
            "runs as"
        )
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if options.command == "serve" and options.socket is None and tcp is None:
        parser.error("--socket or --listen is required")
    if options.command == "status":
        if options.socket is None:
            parser.error("status needs --socket")
        return _status(options.socket)
    try:
        if options.command == "probe":
            asyncio.run(_probe(letters))
        else:
            daemon = Sandboxd(options.socket, options.pool, letters, tcp=tcp, key=key)
            asyncio.run(daemon.serve(lambda status: _announce(status, daemon.port)))
    except OSError as error:
        log_lines.write(str(error), "error")
        return 1
    return 0


async def _probe(letters: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        daemon = Sandboxd(Path(folder) / "probe.sock", 1, letters)

        def tell(status: SandboxStatus) -> None:
            answer = {"available": status.available, "jail": status.jail, "reasons": status.reasons}
            answer["refused"] = status.probe["refused"]
            sys.stdout.write(json.dumps(answer) + "\n")
            daemon.stop()

        await daemon.serve(tell)


def _status(path: Path) -> int:
    with SandboxClient(path) as client:
        status = client.status()
    answer = {"available": status.available, "jail": status.jail, "reasons": status.reasons}
    sys.stdout.write(json.dumps(answer | {"refused": status.probe.get("refused", {})}) + "\n")
    return 0 if "pool" in status.probe else 1


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"--listen takes HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


def _announce(status: SandboxStatus, port: int | None) -> None:
    proved = f"code rewards are on: jail {status.jail} was proved to hold"
    text = proved if status.available else "code rewards are off: " + "; ".join(status.reasons)
    log_lines.write(text, "info" if status.available else "warning")
    if port is not None:
        log_lines.write(f"listening on TCP port {port}")


if __name__ == "__main__":
    sys.exit(main())
