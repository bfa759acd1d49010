"""`reinforge up`: PostgreSQL, backend, worker and sandbox as child processes of one supervisor."""
