"""Stub of the machine's GPUs, set by the test."""

import os

print(os.environ["STUB_DEVICES"])
