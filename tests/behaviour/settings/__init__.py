"""Properties and key-value pairs: requests read and change them, files keep them, a start reads them."""
