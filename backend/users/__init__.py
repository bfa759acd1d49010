"""Users, accounts, sessions."""
