"""Metrics for operators: `GET /metrics` for Prometheus."""
