"""Figures for operators: `GET /metrics` for Prometheus."""
