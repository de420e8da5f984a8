"""What a watched name server showed, in tables, by kind of answer; and what of an answer is kept."""
