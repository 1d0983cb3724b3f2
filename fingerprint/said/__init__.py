"""Which known messages a program printed: what a run said of itself. Never the text, of which nothing is kept."""
