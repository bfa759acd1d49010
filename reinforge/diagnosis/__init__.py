"""Findings, training check and verdict from a job's stored metrics."""
