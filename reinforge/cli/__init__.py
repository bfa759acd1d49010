"""The command line. Results go to stdout as tables or, with `--json`, as JSON; messages go to stderr."""
