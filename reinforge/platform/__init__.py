"""`reinforge up`: the embedded database, the backend, the worker and the sandbox under one supervisor.

postgres.py    PostgreSQL 18 from a wheel, on a Unix socket
supervisor.py  named child processes: ordered start, readiness, restarts, ordered stop
keeper.py      the small process around each child that leaves nothing behind
up.py          which processes make a platform, and what they are told
parent.py      ending with the `make` that started us
doctor.py      what this machine can do, and what to do about the rest

Rooms are started as processes (`python -m backend …`, `python -m worker …`), never imported.
"""
