"""The program: how it starts, where it listens, how it stops, what a restart keeps."""
