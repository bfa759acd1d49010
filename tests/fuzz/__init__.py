"""Time and memory of parsers of untrusted input, by the size of the input."""
