"""Declarative graders, OpenAI's types and ours."""
