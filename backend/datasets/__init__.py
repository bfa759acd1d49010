"""Datasets: uploaded as a stream, read once by a child process with bounded memory, kept by content."""
