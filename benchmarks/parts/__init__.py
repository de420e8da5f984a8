"""The parts of the benchmarks: one module a part, each with a ``PART``."""
