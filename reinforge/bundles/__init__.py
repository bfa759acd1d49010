"""Bundles: archives with everything needed to repeat a job, and readers that limit what they accept."""
