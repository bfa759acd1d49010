"""Bundles: one file with everything that repeats a job."""
