"""Uploads of dataset files, as a form or in parts, and their inspection."""
