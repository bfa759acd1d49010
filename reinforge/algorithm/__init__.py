"""The algorithm in a job's specification: one page per slot, how they go together, and what does not.

The tensors' side is `worker.algorithm`; the `type` of a slot names the same thing in both.
"""
