"""OpenAI-compatible API: translates requests to the services, and holds no state."""
