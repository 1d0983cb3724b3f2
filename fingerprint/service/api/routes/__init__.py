"""What the API answers, by theme."""
