"""The twins in `rocketns/_fast/system/`: the keyed hash, and the extensions of PROXY headers."""
