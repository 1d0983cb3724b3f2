"""Always on: what reads the host by itself, notices what serves, and answers whoever asks.

reader service --sections--> rounds --> store --> events, segments --> api
"""
