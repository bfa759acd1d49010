"""Bundles: one file with everything that is needed to repeat a job."""
