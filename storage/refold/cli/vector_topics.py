"""The help topic of vectors: made on this machine, or by a model."""

from __future__ import annotations

OF_VECTORS = {
    "vectors": (
        "search by what is meant, beside the words",
        """
Search compares words and their stems. With vectors it also compares what texts are about, so that "vehicle" finds a car. They are made on
this machine, in the fold, from weights that lie in a package: no text is sent anywhere.

    pip install 'refold[embed]'
    python -c "from refold import settings; print(settings.text('search.toml'), end='')" > search.toml
                             beside the file that REFOLD_CONFIG names; then, in its last section:

    [vectors]
    use = true

    refold fold              a full one: which search recipe a state was folded by is part of it, and until then search refuses

The likeness of an event (the cosine of its vector, mixed with those of the turns beside it, and the query's) is added to its score,
`weight` times; an event that shares no word with the query is found from `least` on. `refold search --explain` shows it as `likeness`. What
no fold has read yet gets its vector when it is searched, so that it is found as well as the rest. Speakers' names are left out: of a query
all that the asker may see, of an event its own speaker's.

What is hidden from a principal takes no part: not even the turn before a visible one. A vector costs 256 bytes an event, on disk and in
the memory of whoever searches. Measure what it is worth on questions of your own: `refold eval`. To switch it off, `use = false`, and fold.

A model can make them instead: any endpoint that speaks the protocol of OpenAI's embeddings, or another that litellm knows.

    [vectors]
    use = true
    by = "openai"            configs/recipes/vectors/openai.toml says which model, where, and with how many components. Copy it beside
                             search.toml, and name the copy. `weight` and `least` are fitted to the package's weights: measure yours

Then the words of every event are sent there when it is folded, one event to a call, recorded and asked once like any call
(`refold fold --plan` says how many, `refold calls list` which). Where it did not answer, events are pending: found by words, and asked
about again by the next fold. An erasure asks nobody. The words of every query are sent there too. Of these nothing is recorded, for no
event stands behind a query, so no erasure could reach it: what queries cost is on the provider's bill alone. Without an answer in
`query_seconds` a search goes by words, and says so. Speakers' names are left in what is sent: a model reads sentences, not lists of words.

No model puts what was found in another order: the likeness of vectors is the only second opinion that counts into a score.
""",
    ),
}
