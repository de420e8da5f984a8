"""The report: its words, its parts, its page, and the page in a browser."""
