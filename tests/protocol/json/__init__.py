"""JSON as fastjson2 reads and writes it."""
