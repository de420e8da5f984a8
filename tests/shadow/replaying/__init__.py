"""`rocketns replay`: what is sent, when, and what is said of the answers."""
