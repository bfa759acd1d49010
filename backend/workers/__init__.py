"""The worker door: claim, heartbeat, records, blobs, and the calls lane."""
