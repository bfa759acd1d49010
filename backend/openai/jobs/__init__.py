"""OpenAI's fine-tuning jobs."""
