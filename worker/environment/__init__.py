"""Environments: they answer the policy's turn (tool results, user replies) or end the conversation."""
