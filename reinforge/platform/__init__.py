"""`reinforge up`: the embedded database, the backend, the worker and the sandbox under one supervisor.

postgres.py    PostgreSQL 18 from a wheel, on a Unix socket
supervisor.py  named child processes: ordered start, readiness, restarts, ordered stop
keeper.py      the small process around each child that leaves nothing behind
up.py          the processes of a platform and their start order
parent.py      detects the end of a parent `make`
doctor.py      checks of this machine, with advice

Backend and worker are started as processes (`python -m backend …`, `python -m worker …`), never imported.
"""
