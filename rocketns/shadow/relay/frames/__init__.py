"""Frames and requests on one connection, and how many of their bytes are kept. Nothing here opens or writes."""
