"""Base models and their facts, as workers have read them."""
