"""A connection whose peer vanished without closing it."""

import subprocess
import sys

import pytest

from .harness import REPOSITORY

HALF_OPEN = """
import fcntl, socket, struct, time
from tests.worker.sandbox.harness import running_daemon
from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.transport import tls

def loopback(up):
    with socket.socket() as probe:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(probe, 0x8913, request))[1]  # SIOCGIFFLAGS
        fcntl.ioctl(probe, 0x8914, struct.pack("16sh", b"lo", flags | 1 if up else flags & ~1))  # SIOCSIFFLAGS

loopback(True)
tls.LOST_PEER_SECONDS = 2
with running_daemon(tcp=True) as daemon:
    with SandboxClient(f"tcp://127.0.0.1:{daemon.port()}", tls.KeyFile(daemon.key_file)) as client:
        assert client.status().available
        loopback(False)
        started = time.monotonic()
        outcome = client.score("def grade(sample, item): return 1.0", [RewardRow("p", "c")])
        print(outcome.status, time.monotonic() - started < 10)
"""


def test_a_peer_that_vanished_without_a_word_is_noticed() -> None:
    """A network of its own goes down with a request under way. Without the limit the kernel retries for minutes."""
    alone = ["unshare", "--net", sys.executable, "-c", HALF_OPEN]
    if subprocess.run([*alone[:2], "true"], capture_output=True).returncode:
        pytest.skip("network namespaces need root")
    done = subprocess.run(alone, capture_output=True, text=True, timeout=60, cwd=REPOSITORY)
    assert done.stdout == "sandbox_unavailable True\n", done.stderr
