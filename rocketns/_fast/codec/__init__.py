"""Compiled codecs: bytes of frames, headers and bodies to values, and route answers to bytes."""
