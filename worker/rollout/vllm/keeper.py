"""Supervisor process of a vLLM server: `python keeper.py FOLDER COMMAND…`.

On EOF on standard input, a signal, or the server's end, it kills its process group. It removes FOLDER too,
unless the server ended by itself: a restart needs the adapters in it.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from types import FrameType

GRACE_SECONDS = 5.0


def main(arguments: list[str]) -> None:
    folder, command = arguments[0], arguments[1:]
    ending = threading.Event()

    def end(_: int, __: FrameType | None) -> None:
        ending.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    threading.Thread(target=_until_eof, args=(ending,), daemon=True).start()
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    while server.poll() is None and not ending.wait(0.05):
        pass
    if server.returncode is None:
        server.terminate()
        _wait(server, GRACE_SECONDS)
    if ending.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    print(f"keeper: the server ended with status {server.returncode}", file=sys.stderr, flush=True)  # noqa: T201
    os.killpg(0, signal.SIGKILL)


def _until_eof(ending: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    ending.set()


def _wait(server: "subprocess.Popen[bytes]", seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


if __name__ == "__main__":
    main(sys.argv[1:])
