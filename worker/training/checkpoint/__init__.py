"""Resume states, archives of adapters, and the start of forked jobs."""
