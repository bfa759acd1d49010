"""API keys: created and revoked by owners, or configured at start-up."""
