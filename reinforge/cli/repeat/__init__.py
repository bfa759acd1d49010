"""`reinforge bundle`, `reproduce`, `diverge` and `bisect`."""
