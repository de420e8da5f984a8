"""The benchmarks themselves: arithmetic, verdicts, files, load programs."""
