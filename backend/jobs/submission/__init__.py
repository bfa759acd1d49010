"""Submission of jobs: validation, worker checks, golden cases, storage."""
