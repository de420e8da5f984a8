"""The audit's files in an object store instead of in folders."""
