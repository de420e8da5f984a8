"""The audit compared with real consumers: one network cut, what the clients then did, and the audit's result."""
