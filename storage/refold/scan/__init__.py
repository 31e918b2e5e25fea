"""The scan: every byte of a folder is read, whatever can be decoded is, and what should be gone is looked for. It needs no store."""
