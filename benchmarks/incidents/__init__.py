"""Public incidents played back: does the changed state that moved the number rank first, and is nothing called likely
where nothing that was seen moved it? `python -m benchmarks.incidents`."""
