"""What Refold cannot claim: each sentence stands here once, and README, envelope and receipts take it from here."""

from __future__ import annotations

GROUNDED = "a fact is what somebody said, with the words it rests on: its place is proven, its truth is not"
SYMBOLIC = "symbolic/en-1 reads plain English statements only: much that was said becomes no fact, and stays found by search"
UNWITNESSED = "without a witness on another host, a log whose end was cut off cannot be told from a shorter log"
ROOT_FILE = "a root kept as a file can be lost, which is final, or outlive its deletion in a backup or on an SSD"
OPERATOR = "whoever can read store, vault and root together can read everything: principals limit readers, not the machine's owner"

ALL = (GROUNDED, SYMBOLIC, UNWITNESSED, ROOT_FILE, OPERATOR)
