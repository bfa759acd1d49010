"""RPCs to workers, and wake-ups through Celery."""
