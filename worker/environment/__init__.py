"""What answers a completion: nothing in a single turn; tools and dialogues."""
