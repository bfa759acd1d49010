"""Commands that evaluate models and test rewards: `reinforge eval`, `gate`, `reward` and `judge`."""
