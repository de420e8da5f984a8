"""Tests of rocketns.protocol: bytes to values and back, compared with the results of Java's decoders."""
