"""Bundles: archives of everything needed to repeat a job. Their readers limit sizes."""
