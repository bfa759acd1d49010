"""Commands that read what a job has produced, compare it and share it."""
