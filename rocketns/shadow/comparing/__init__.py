"""Whether two answers to one request are the same, the same but for order, differ as listed, or differ; and in what."""
