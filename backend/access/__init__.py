"""Access control: authentication, scopes, quotas, limits."""
