"""Monitoring of a job: metrics, completions, search, events, the live stream."""
