"""The algorithm in a job's specification: one module per part, rules between parts, and plug-ins.

`worker.algorithm` computes it; a part has the same `type` in both.
"""
