"""What a run measured."""

from fingerprint.metrics.metric import Better, Metric

__all__ = ["Better", "Metric"]
