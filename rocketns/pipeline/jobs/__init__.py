"""The jobs: pure functions of data frames and plain rows. None reads or writes a file."""
