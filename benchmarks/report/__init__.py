"""Reports from the results: JSON, Markdown, plots, and the table in the README."""
