"""`python -m fingerprint` is the command line."""

from fingerprint.cli import main

if __name__ == "__main__":
    main()
