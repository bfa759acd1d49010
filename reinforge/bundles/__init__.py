"""Bundles: archives with everything that repeats a job, and readers with limits."""
