"""The audit with its files in an object store, and as a client of a Spark Connect server."""
