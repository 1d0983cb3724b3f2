"""What a run's numbers say of each other: accept length, cycle and throughput of one stream of tokens."""

from fingerprint.explain.arithmetic.compose import arithmetic

__all__ = ["arithmetic"]
