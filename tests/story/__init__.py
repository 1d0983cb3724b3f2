"""The story of the README as two run files that nobody measured: every figure is made up, and fits every other."""
