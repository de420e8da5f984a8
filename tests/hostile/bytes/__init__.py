"""Bytes that no honest peer sends: garbage, large and deep bodies, frames that are dear to decode."""
