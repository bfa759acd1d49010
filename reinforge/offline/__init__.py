"""Jobs without a server, and the demo."""
