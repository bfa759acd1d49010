"""Rollout engines, and the collector of scored groups."""
