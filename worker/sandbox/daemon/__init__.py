"""The sandbox daemon: listeners, pool of jails, calls, and parser of replies."""
