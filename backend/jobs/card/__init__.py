"""Report cards of jobs, computed from stored data."""
