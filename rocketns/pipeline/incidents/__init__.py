"""One list of everything that went wrong, of all kinds, from the result tables: plain values, no Spark, no HTML."""
