"""Commands that merge and publish adapters: `reinforge adapter merge` and `reinforge push`."""
