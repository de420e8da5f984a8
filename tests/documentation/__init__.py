"""The documentation site: its pages, its links, and the site itself in a browser."""
