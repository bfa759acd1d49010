"""Uploads: multipart, resumable in parts, and the inspection of a file in a child process."""
