"""The program: start, listening addresses, stop, and what a restart keeps."""
