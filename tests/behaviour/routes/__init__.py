"""Requests of clients and tools: routes, topics, permissions, clusters."""
