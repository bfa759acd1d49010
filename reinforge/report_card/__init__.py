"""Report cards of jobs: pure functions from stored completions to figures, documents and a signed manifest."""
