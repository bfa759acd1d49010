"""Monitoring of jobs."""
