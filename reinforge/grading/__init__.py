"""Declarative graders, OpenAI's types and ours. Pure: no torch, no web, no I/O.

`worker.rewards` runs what needs a network, a jail or a model.
"""
