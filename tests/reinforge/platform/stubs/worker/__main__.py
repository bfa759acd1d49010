"""Stands in for the worker and the calls lane."""

import signal
import sys

from backend.start_record import record_start

record_start(sys.argv[1] if len(sys.argv) > 1 else "worker")
signal.pause()
