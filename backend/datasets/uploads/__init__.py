"""Uploads: multipart, in parts, inspection."""
