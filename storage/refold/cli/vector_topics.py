"""The help topics of vectors, made on this machine or by a model, and of reranking."""

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

A model may also put in order what was found first: `refold help rerank`.
""",
    ),
    "rerank": (
        "a model that puts in order what a search found",
        """
A model that reads a query together with each event tells better than words or vectors which of them says something about it. It is asked
about the first events that a search finds, by any endpoint that takes a query and documents at `/rerank`: one of your own with vLLM,
Infinity or llama.cpp, or another that litellm knows (Cohere, Jina, Voyage). Nothing is reranked unless search.toml says so
(`refold help vectors` says how to get one):

    [rerank]
    by = "vllm"              configs/recipes/rerank/vllm.toml says which model, where, and how many events. Copy it beside search.toml, and
                             name the copy

Nothing is folded anew. Only the order of the first `candidates` changes: each gets up to `weight` added to its score, the best most and the
worst nothing, and `refold search --explain` shows it as `reranked`. Measure what it is worth on questions of your own: `refold eval`.

The words of every query, and of the events that are found first for it, are sent there: of these only what whoever asks may see. Each call
is recorded before its answer counts (`refold calls list`), and what it costs is in the totals. The recording holds the query, which is no
event and may name anybody. So it is sealed under the keys of its events and of the epoch: it goes dark with any of these, and with every
other erasure, in old copies too. Until then it lies in the recordings, and no report on a person, nor search for one, looks at it. Nothing
is cached: who asks again asks the model again.

Under the fence of an erasure, beside an unfinished transaction, and where no recording could be written, nothing is sent. Then, and without
a whole answer in `query_seconds`, events stand in the order that search gives them, and a warning says so.
""",
    ),
}
