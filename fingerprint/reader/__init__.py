"""The process that runs probes, seen from the process that asks.

A process with one thread in state D cannot exit, even by SIGKILL, so whatever touches the machine must
not be the user's process. All probes run in a forked worker that streams each finished section; a
worker that outlives a probe's budget is killed, waited for a tenth of a second and left behind, and
another takes over the probes that are left.
"""

from fingerprint.reader.given import read_given, with_given
from fingerprint.reader.reader import Reader
from fingerprint.reader.relieved import Relieved
from fingerprint.reader.take import take_snapshot

__all__ = ["Reader", "Relieved", "read_given", "take_snapshot", "with_given"]
