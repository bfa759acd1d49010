"""`reinforge train`: job files, rewards and the demo without a server."""
