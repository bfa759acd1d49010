"""LLM judges of a project, to which graders refer."""
