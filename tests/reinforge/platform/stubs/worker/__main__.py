"""Stub of the worker and the RPC worker."""

import signal
import sys

from backend.start_record import record_start

record_start(sys.argv[1] if len(sys.argv) > 1 else "worker")
signal.pause()
