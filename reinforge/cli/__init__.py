"""The command line. Results go to stdout (tables, or JSON with `--json`), messages to stderr."""
