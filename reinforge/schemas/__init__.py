"""Shapes of HTTP requests and responses, shared by server and client. Unknown response fields are kept out of the
way of older clients (ignored); unknown request fields are errors."""
