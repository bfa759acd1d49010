"""Uploads: multipart, resumable in parts, and inspection of the file in a child process."""
