"""Reinforge: the shared core, the SDK and the command line.

Everything here runs without a web framework, a queue or torch; `backend` and `worker` both build on it
and never on each other.
"""

__version__ = "0.2.0"
