"""Worker API: claim, heartbeat, records, blobs, and RPCs."""
