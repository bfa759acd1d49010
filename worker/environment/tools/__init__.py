"""Tools that rollouts call: jailed Python, and servers."""
