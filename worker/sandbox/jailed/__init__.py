"""Code that runs inside the jail, copied there: it imports only the standard library and itself."""
