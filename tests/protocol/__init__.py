"""Tests of rocketns.protocol: bytes to values and back, held to what Java's decoders made of the same bytes."""
