"""All known attacks at once, with honest peers beside them whose waits are measured."""
