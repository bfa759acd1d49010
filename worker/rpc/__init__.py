"""Serves synchronous requests from the backend: validate, score, render, inspect, sample."""
