"""What answers a completion: in a single turn, nothing."""
