"""Stands in for sandboxd."""

import os
import signal
import socket
import sys
from pathlib import Path

from backend.start_record import record_start

if sys.argv[1] == "probe":
    print(os.environ["STUB_PROBE"])
    sys.exit()
record_start("sandbox")
if "STUB_SANDBOX_FAILS" in os.environ:
    sys.exit("no jail here")
listener = socket.socket(socket.AF_UNIX)
Path(sys.argv[2]).unlink(missing_ok=True)
listener.bind(sys.argv[2])
listener.listen()
signal.pause()
