"""Commands that start and watch jobs, such as `reinforge job`, `sweep` and `preflight`."""
