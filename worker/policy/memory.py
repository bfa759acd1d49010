"""Telling a lack of memory from other failures: it comes as four kinds of errors."""

import errno

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """PyTorch's CPU allocator raises a plain RuntimeError, mapping a file an OSError."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, RuntimeError):
        return "not enough memory" in str(error)
    return isinstance(error, OSError) and error.errno == errno.ENOMEM
