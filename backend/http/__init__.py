"""HTTP: server, errors, pagination, idempotency, uploads, downloads, compression."""
