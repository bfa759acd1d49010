"""Runs chat templates and tokenizers of untrusted files in limited child processes."""
