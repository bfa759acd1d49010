"""`reinforge job …`, `preflight` and `presets`."""
