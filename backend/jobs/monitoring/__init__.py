"""Monitoring of jobs: metrics, completions, events, the live stream."""
