"""Tools that rollouts call: sandboxed Python, and tool servers."""
