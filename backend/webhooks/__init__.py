"""Webhooks: who wants to hear of what, and the deliveries, signed as Standard Webhooks has it."""
