"""Changes of a job's state."""
