"""Sweeps: jobs that differ in chosen settings, planned, submitted and ended by the background process."""
