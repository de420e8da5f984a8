"""Parts of rocketns in one process, by pytest-benchmark. `make test` runs each once, without its limits."""
