"""The journals' records as they are stored below --out: from lines to Parquet, and which files are in it."""
