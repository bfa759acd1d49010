"""OpenAI's grader API."""
