"""`reinforge adapter merge` and `reinforge push`."""
