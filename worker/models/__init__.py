"""Base models as files: where they come from, what they are, how they render a prompt. Nothing here loads torch."""
