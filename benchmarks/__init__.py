"""Measurements against yardsticks taken in the same run: `python -m benchmarks`."""
