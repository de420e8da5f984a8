"""What strangers send, drawn by chance: sizes, names, bodies, frames, requests of HTTP, answers."""
