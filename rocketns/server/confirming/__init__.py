"""Unconfirmed brokers: who is asked for proof that they are gone, and when they are given up."""
