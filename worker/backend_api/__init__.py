"""Client side of the worker API."""
