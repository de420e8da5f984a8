"""Producers and consumers in any language, what starts them with their servers, and the table of clients."""
