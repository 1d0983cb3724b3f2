"""May the benchmark start: the host as it is now against a baseline, policies, or its own defaults and maxima."""
