"""The worker's side of the worker API: requests, records on their way to the backend, and a cache of blobs."""
