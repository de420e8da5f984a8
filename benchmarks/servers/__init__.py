"""The measured servers as processes: their programs, start, place and cost; and the machine below them."""
