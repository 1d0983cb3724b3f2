"""The command line: one verb per file, each short; the library does the work.

A verb's module is imported when the verb is used, so that no command pays for another's imports.
"""

from fingerprint.cli.main import main

__all__ = ["main"]
