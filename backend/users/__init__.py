"""Users: signing in, their account, their browsers."""
