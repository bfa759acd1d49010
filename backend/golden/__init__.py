"""Golden cases of rewards."""
