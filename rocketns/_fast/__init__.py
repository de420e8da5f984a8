"""The compiled parts: bytes and buffers without the GIL. Imports nothing from the rest of rocketns."""
