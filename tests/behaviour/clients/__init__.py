"""Clients that read frames and JSON by hand: what each needs of the bytes that a name server sends."""
