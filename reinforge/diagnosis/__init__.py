"""Conclusions from a job's stored series."""
