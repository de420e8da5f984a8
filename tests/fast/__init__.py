"""Each compiled twin is held to its Python reference."""
