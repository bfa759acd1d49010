"""Declarative graders: JSON, templates, arithmetic, text similarity. Pure: no torch, no web, no
I/O.

OpenAI's types (`string_check`, `text_similarity`, `score_model`, `label_model`, `python`,
`multi`) and ours. `worker.rewards` runs what needs a network, a jail or a model.
"""
