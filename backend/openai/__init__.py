"""OpenAI-compatible API: a stateless translation to the services."""
