"""OpenAI's files and uploads."""
