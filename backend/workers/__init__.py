"""Worker API: claims, heartbeats, records, blobs, RPCs."""
