"""212 fake_numpy_that_exits

GOAL: conversion leaves by SystemExit
ACCEPT: exception
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the error is the row's alone
"""
class float64:
    __module__ = "numpy"
    ndim = 0
    def item(self): raise SystemExit(0)
def attack(item): return {"score": 0.0, "parts": {"a": float64()}}
