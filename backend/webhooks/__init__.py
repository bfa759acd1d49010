"""Webhooks, signed as in the Standard Webhooks specification."""
