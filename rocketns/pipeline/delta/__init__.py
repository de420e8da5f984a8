"""What is below --out as tables of Delta Lake, for other programs."""
