"""Share links of jobs: one read-only page without sign-in."""
