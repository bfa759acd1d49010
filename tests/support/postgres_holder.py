"""Holds the test run's database server while any test process uses it.

Every user holds a shared lock on FOLDER/users. This process asks for the exclusive one and gets it when the
last user is gone, however it ended; then it stops the server and deletes its data.
"""

import fcntl
import signal
import sys
from pathlib import Path

from reinforge.platform.postgres import EmbeddedPostgres

FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
}
"""Nothing a test writes has to survive the machine."""


def hold(folder: Path) -> None:
    address = folder / "url"
    server = EmbeddedPostgres(folder / "home", settings=FAST)
    with (folder / "users").open("a") as users:
        try:
            server.start()
            fresh = folder / "url.new"
            fresh.write_text(server.url())
            fresh.rename(address)
            fcntl.flock(users, fcntl.LOCK_EX)
        finally:
            server.destroy()
            address.unlink(missing_ok=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    hold(Path(sys.argv[1]))
