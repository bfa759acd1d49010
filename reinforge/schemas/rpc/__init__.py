"""Requests, results and events of RPCs to workers, by kind."""
