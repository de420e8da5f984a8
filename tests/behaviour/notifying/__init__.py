"""Notifications that the name server sends to brokers: the new lowest id of their group."""
