"""Jobs: submission, lifecycle and monitoring."""
