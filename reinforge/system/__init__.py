"""Operating-system helpers: signals, priority, archives."""
