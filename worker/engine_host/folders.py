"""Private folders that are removed after their process, even if that was killed."""

import os
import re
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Literal

from worker.engine_host.protocol import LocalProcess


def private_folder(kind: Literal["host", "lease"]) -> Path:
    """Make a folder of this process. Those of processes that ended without removing theirs are removed."""
    machine = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())[:20]
    own = LocalProcess.of(os.getpid())
    assert own is not None
    for path in Path(tempfile.gettempdir()).glob(f"rf-*-{machine}-*"):
        match = re.fullmatch(rf"rf-(?:host|lease)-{machine}-(\d+)-(\d+)-\w+", path.name)
        if match and not LocalProcess(pid=int(match[1]), started=int(match[2])).alive:
            shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"rf-{kind}-{machine}-{own.pid}-{own.started}-"))
