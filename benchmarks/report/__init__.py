"""Reports from the results: JSON, Markdown, plots, and the table in docs/costs.md."""
