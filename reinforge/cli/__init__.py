"""The command line: tables for people, `--json` for programs, logs on stderr, exit codes in `exits.py`."""
