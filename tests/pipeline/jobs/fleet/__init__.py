"""Jobs about the whole fleet on a few rows each."""
