"""Webhooks and their deliveries, signed by Standard Webhooks."""
