"""Moving in from another memory system, in three steps of which only the last changes the log.

    record.py         a record as another system holds it, and what it does not say
    documents.py      what was captured, read as JSON or as lines of JSON
    mem0.py   mcp_memory.py   letta.py   graphiti.py          one module per format; formats.py knows them all
    decisions.py      the operator's answers
    drafting.py       records and answers become drafts: pure, and the same for the same
    box.py            how the files of a move are sealed
    capture.py        prepare, canonicalize, drop: what lies in the vault
    finalize.py       the move itself: one transaction

    <vault>/migrate/<id>/     move (what was captured, with keyed digests)   source.N (the captured bytes)   records (what they became)

Every file is sealed under a key of the live epoch, so that a move which was never finished dies with the next erasure.
What other systems derived (sentences, observations, blocks) is said by them, as a document of theirs; it is no fact of anybody's.
"""
