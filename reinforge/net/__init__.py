"""Network rules and helpers: permitted addresses, webhook signatures, the broker's state."""
