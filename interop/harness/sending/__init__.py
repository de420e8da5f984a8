"""Producers and consumers in any language, and the table of clients."""
