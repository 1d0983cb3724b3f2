"""What happened on a host, with its runs, on one axis of time: all that is kept -> the contract."""

from fingerprint.timeline.compose import Asked, timeline

__all__ = ["Asked", "timeline"]
