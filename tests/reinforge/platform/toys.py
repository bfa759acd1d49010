"""Toy processes for the supervisor's tests: `python toys.py ROLE FOLDER`. Each writes its pid into FOLDER.

family    starts a grandchild that ignores SIGTERM, and a daemon: forked twice, in a session of its own
stubborn  ignores SIGTERM
fragile   ends with status 3 at once
parent    a supervisor of `family` and `stubborn`; writes `ready`, then waits for SIGTERM or Ctrl-C
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = str(Path(__file__).resolve())


def write(folder: Path, name: str) -> None:
    fresh = folder / f".{name}"
    fresh.write_text(str(os.getpid()))
    fresh.rename(folder / name)


def sleep_for_ever() -> None:
    while True:
        time.sleep(60)


def family(folder: Path) -> None:
    subprocess.Popen([sys.executable, HERE, "stubborn", str(folder)])
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            write(folder, "daemon")
            sleep_for_ever()
        os._exit(0)
    os.wait()
    write(folder, "family")
    sleep_for_ever()


def stubborn(folder: Path) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    write(folder, "stubborn")
    sleep_for_ever()


def fragile(folder: Path) -> None:
    with (folder / "starts").open("a") as file:
        file.write("x")
    print("cannot find my other shoe", flush=True)
    sys.exit(3)


def parent(folder: Path) -> None:
    from reinforge.platform.supervisor import ProcessSupervisor, Service

    command = [sys.executable, HERE, "family", str(folder)]
    supervisor = ProcessSupervisor()
    stopped = signal.sigwait  # blocked before any thread exists, so that all inherit it
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    supervisor.start(Service("family", command, folder, dict(os.environ), grace=1.0))
    write(folder, "ready")
    stopped({signal.SIGTERM, signal.SIGINT})
    supervisor.stop()


if __name__ == "__main__":
    {"family": family, "stubborn": stubborn, "fragile": fragile, "parent": parent}[sys.argv[1]](
        Path(sys.argv[2])
    )
