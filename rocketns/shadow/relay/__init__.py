"""What is between a client and the two servers: bytes pass through, frames and their answers are noted beside."""
