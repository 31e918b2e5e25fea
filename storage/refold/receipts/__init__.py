"""Receipts: signed papers about a log that anybody checks with its public key alone. No content and no names stand in them."""
