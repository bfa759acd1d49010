"""Report cards of jobs, read from what is stored."""
