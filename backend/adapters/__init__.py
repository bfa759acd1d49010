"""Adapters of succeeded jobs."""
