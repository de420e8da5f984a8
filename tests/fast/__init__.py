"""Each compiled twin is compared with its Python reference."""
