"""Who may send a request, and how much: authentication, scopes, quotas, limits."""
