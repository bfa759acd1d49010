"""The sandbox daemon."""
