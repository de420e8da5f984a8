"""The management port: an HTTP server on a thread and an event loop of its own. `server` says how to add to it."""
