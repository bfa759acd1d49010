"""`reinforge up`: PostgreSQL, backend, worker and sandbox under one supervisor.

Backend and worker are started as processes (`python -m backend …`, `python -m worker …`), never
imported.
"""
