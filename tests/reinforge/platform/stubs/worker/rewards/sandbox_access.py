"""Stands in for the sandbox that the environment names."""

import os

print(os.environ["STUB_PROBE"])
