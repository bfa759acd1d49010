"""Datasets: streaming upload, inspection in a bounded child process, content-addressed storage."""
