"""Stands in for the worker and the calls lane."""

import signal
import sys

from backend.telling import tell

tell(sys.argv[1] if len(sys.argv) > 1 else "worker")
signal.pause()
