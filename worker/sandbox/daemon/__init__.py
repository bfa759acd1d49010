"""sandboxd: listeners, a pool of jails, calls, and the parser of untrusted replies."""
