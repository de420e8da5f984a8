"""From what was measured to what is read: JSON, Markdown, plots, and the table in the README."""
