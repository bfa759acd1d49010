"""Declarative graders: their JSON, templates, arithmetic, text similarity. Pure: no torch, no web, no I/O.

The types and their JSON are OpenAI's (`string_check`, `text_similarity`, `score_model`, `label_model`, `python`,
`multi`), and ours beside them. What needs a network, a jail or a model is run by `worker.rewards`.
"""
