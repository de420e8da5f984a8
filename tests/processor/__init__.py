"""Tests of rocketns.processor: one request in, one reply out, without a socket."""
