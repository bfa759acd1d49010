"""Commands that repeat and compare runs: `reinforge bundle`, `reproduce`, `diverge` and `bisect`."""
