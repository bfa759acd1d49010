"""Sign-in, sign-out, and who is asking."""
