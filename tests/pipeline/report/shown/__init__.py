"""The page in a browser, and in Chinese."""
