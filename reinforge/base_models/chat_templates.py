"""Chat templates for models that have none: what is offered, and which tokens it needs (none).

Workers render with them (`worker.models.sources`); who serves such a model elsewhere needs their text, too.
"""

PLAIN = """{%- for message in messages -%}
{{ message['role'] }}: {{ message['content'] | trim }}{{ '\n\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
assistant:
{%- endif -%}
"""
"""Roles as words, turns apart by an empty line: every tokenizer can write it, and base models have read the like."""

TEMPLATES = {"plain": PLAIN}
