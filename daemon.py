"""The service from a checkout: `python daemon.py` is what `fingerprintd` is where fingerprint is installed."""

from fingerprint.service.__main__ import main

if __name__ == "__main__":
    main()
