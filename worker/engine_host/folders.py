"""Private folders that are removed after their process, even if that was killed."""

import os
import re
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Literal

from worker.engine_host.protocol import LocalProcess

_NAME = re.compile(r"rf-(?:host|lease)-([A-Za-z0-9]*)-(\d+)-(\d+)-\w+")


def private_folder(kind: Literal["host", "lease"]) -> Path:
    """Make a folder of this process; remove those of ended processes."""
    machine = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())[:20]
    own = LocalProcess.of(os.getpid())
    assert own is not None
    for path in Path(tempfile.gettempdir()).glob(f"rf-*-{machine}-*"):
        match = _NAME.fullmatch(path.name)
        if match and match[1] == machine and not LocalProcess(pid=int(match[2]), started=int(match[3])).alive:
            shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"rf-{kind}-{machine}-{own.pid}-{own.started}-"))
