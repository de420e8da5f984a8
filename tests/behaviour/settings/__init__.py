"""Properties and key-value pairs: read and changed by requests, kept in files, read at the start."""
