"""Shapes of HTTP requests and responses, shared by server and client.

Unknown response fields are ignored, so that older clients go on working; unknown request fields are errors.
"""
