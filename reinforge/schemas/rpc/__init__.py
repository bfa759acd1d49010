"""Requests, results and events of the RPCs that the backend sends to workers, by kind."""
