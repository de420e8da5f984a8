"""The recipe for a metric: docs/metrics.md, and the tests that assert what a scrape says."""
