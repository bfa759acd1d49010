"""Scoring of completions. Imports no torch: the Celery workers and the RPC server use it too."""
