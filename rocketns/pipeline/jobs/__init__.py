"""The jobs: pure functions from data frames to data frames. None reads, writes or holds a Spark session."""
