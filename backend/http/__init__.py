"""HTTP helpers: server, errors, idempotency, conditional requests, pagination, streams."""
