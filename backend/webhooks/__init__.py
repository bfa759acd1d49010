"""Webhooks and their deliveries, signed as in the Standard Webhooks specification."""
