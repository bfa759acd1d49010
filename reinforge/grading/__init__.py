"""Declarative graders: OpenAI's types and our own."""
