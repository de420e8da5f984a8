"""The management port: an HTTP server on a thread and an event loop of its own. `features` says how to add to it."""
