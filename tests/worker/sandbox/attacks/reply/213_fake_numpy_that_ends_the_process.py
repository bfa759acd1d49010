"""213 fake_numpy_that_ends_the_process

GOAL: conversion calls os._exit(0)
ACCEPT: exited
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: never counted as finished
"""
import os
class float64:
    __module__ = "numpy"
    ndim = 0
    def item(self): os._exit(0)
def attack(item): return float64()
