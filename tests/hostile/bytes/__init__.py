"""Bytes that no honest peer sends: garbage, large and deep bodies, frames that are expensive to decode."""
