"""Report cards of jobs: figures, documents and signed manifest, computed from stored completions."""
