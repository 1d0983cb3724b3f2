"""Changes and metrics -> the contract: what moved, what can have moved it, and what nobody knows."""

from fingerprint.explain.compose import exit_status, explain
from fingerprint.explain.subject import Noticed, Subject

__all__ = ["Noticed", "Subject", "exit_status", "explain"]
