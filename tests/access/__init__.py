"""Tests of access control: the pure layer, and what it does over real sockets."""
