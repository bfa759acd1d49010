"""Webhooks and deliveries, signed by Standard Webhooks."""
