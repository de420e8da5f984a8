"""The audit with its files in an object store."""
