"""Fixed work at both ends of a run, that tells a host that was slower from a command that was (docs/canary.md)."""
