"""How soon the stream alerts what happens to real name servers, and whether a month of it needs more and more."""
