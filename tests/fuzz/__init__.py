"""Time and memory of everything that reads what strangers send, while it grows."""
