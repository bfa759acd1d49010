"""Linear-time parsing helpers and readable validation errors."""
