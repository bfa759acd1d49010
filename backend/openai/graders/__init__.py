"""OpenAI's graders: run and validate."""
