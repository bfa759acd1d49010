"""OpenAI's grader API: run and validate."""
