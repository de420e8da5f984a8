"""Name servers that are hostile to whoever asks them: a collector, and the upstream of a shadow."""
