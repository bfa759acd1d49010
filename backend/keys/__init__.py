"""API keys: made and revoked by owners, or given at start-up."""
