"""Shapes of HTTP requests and responses, shared by server and client.

Unknown response fields are ignored, for older clients; unknown request fields are errors.
"""
