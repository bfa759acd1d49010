"""Suggested values for a job's fields, and an estimate of its time before it starts."""
