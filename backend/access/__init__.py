"""Access control: authentication, scopes, and limits of requests."""
