"""Client of the worker API, outbox of records, keep-alive and cache of blobs."""
