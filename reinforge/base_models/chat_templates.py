"""Chat templates, without special tokens, for models that lack one."""

PLAIN = """{%- for message in messages -%}
{{ message['role'] }}: {{ message['content'] | trim }}{{ '\n\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
assistant:
{%- endif -%}
"""
"""Template that writes each message as `role: content`, followed by an empty line."""

TEMPLATES = {"plain": PLAIN}
