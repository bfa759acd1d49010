"""Users: sign-in, account, browser sessions."""
