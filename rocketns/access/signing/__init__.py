"""RocketMQ's signatures of requests, and the secrets that make them."""
