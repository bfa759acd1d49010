"""Suggested values of a job and its time before the start."""
