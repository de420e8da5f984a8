"""Namespaces of strings, bounded, and their file (KVConfigManager)."""
