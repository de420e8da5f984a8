"""The twins in `rocketns/_fast/codec/`: frames, headers, JSON, registrations and their fingerprints."""
