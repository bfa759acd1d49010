"""Client side of the worker API: requests, delivery of records, and a cache of blobs."""
