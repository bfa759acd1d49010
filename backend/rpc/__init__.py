"""Messages to workers: synchronous requests, and wake-ups through Celery."""
