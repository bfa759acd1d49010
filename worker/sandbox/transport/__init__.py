"""Protocol between client and daemon, on a Unix socket or over TLS."""
