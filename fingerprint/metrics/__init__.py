"""What a run measured."""

from fingerprint.metrics.metric import Better, Kind, Metric, Summary

__all__ = ["Better", "Kind", "Metric", "Summary"]
