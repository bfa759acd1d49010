"""Validation of a job before it is stored: references, worker checks, golden cases."""
