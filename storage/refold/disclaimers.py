"""What Refold cannot claim: each sentence stands here once, and README, envelope and receipts take it from here."""

from __future__ import annotations

GROUNDED = "a fact is what somebody said, with the words it rests on: its place is proven, its truth is not"
PROFILED = "a profile is a model's wording: that each sentence names facts which hold is checked, that it says no more than they do is not"
SYMBOLIC = "symbolic/en-1 reads plain English statements only: much that was said becomes no fact, and stays found by search"
UNWITNESSED = "without a witness on another host, a log whose end was cut off cannot be told from a shorter log"
ROOT_FILE = "a root kept as a file can be lost, which is final, or outlive its deletion in a backup or on an SSD"
ROOT_TOKEN = "a root in a token can be lost with it, which is final, or outlive its deletion in a copy of the token"
OPERATOR = "whoever can read store, vault and root together can read everything: principals limit readers, not the machine's owner"
TRANSACTION = "a transaction is no database's: readers may see its steps one by one, and other programs are not kept off its files"
AUDIT = "an audit says what it looked at and when: it is no evidence of what it did not read, nor of what happens afterwards"
ERASURE = "what is removed here stays wherever else it went: backups, copies, screens, other people's memories, spare blocks of a disk"
ESCROW = "a backup of the keys opens, for its recipient, all that these keys open, also what is erased later, in older copies of the store"
SCAN = "a scan finds what was looked for in the encodings it knows: not pictures, sound, ciphertext or other words for the same"
SHORT = "a name of fewer than eight letters is looked for in all that is written, not in ciphertext, keys and ids: chance writes it there"
PRESCRIBED = "a word that the forms of Refold's own files and tables hold in every store is no trace where they hold it: elsewhere it is"
UNSOUGHT = "a name without a word of three letters or digits is not looked for by itself in a scan: it stands everywhere"
ORCHESTRATED = "what Prefect keeps outside the store is not looked into by a scan: flows write nothing of anybody there"
FOUND = "a search finds the ways of writing a name that it knows: nicknames, slips and relations that it does not know stay unfound"
WORDS = (
    "without vectors, an answer to a search shares words with the question, or their stems: what says the same in other words is not found"
)
QUERIES = "where a model makes vectors, the words of queries are sent to it and kept in no record: no report says what they told of whom"
RERANKED = (
    "where a model reranks, queries and what they find are sent to it, and lie in the recordings of its calls until the next erasure, "
    "whoever it is of: a query may name anybody, and no report for a person looks at it"
)
HELD = "a hold forbids erasures by this program alone, and keeps nothing that somebody else may remove"

OF_ROOT = {"file": ROOT_FILE, "pkcs11": ROOT_TOKEN}  # by custody
ALL = (
    *(GROUNDED, PROFILED, SYMBOLIC, UNWITNESSED, ROOT_FILE, ROOT_TOKEN, OPERATOR),
    *(TRANSACTION, AUDIT, ERASURE, ESCROW, SCAN, SHORT, PRESCRIBED, UNSOUGHT, ORCHESTRATED, FOUND, WORDS, QUERIES, RERANKED, HELD),
)
