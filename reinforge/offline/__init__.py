"""Jobs that run without a server, job files, examples and the demo."""
