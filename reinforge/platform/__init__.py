"""`reinforge up`: PostgreSQL, backend, worker and sandbox under one supervisor."""
