"""Strangers who do everything at once that has ever hurt, and honest peers beside them whose waits are measured."""
