"""What a checker of types sees of the verbs to wait for: `ty check` reads this file, and nothing runs it.

Each line that is wrong on purpose is marked; were the types lost, the mark would be one too many, and the check would say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from refold.ingest import Added
from refold.reading import Fact, Hit

if TYPE_CHECKING:
    from refold.memory import Memory


async def seen(memory: Memory) -> None:
    """Call each verb as its namesake is called."""
    assert_type(await memory.aadd("I like tea.", user_id="ada", key="1"), Added)
    assert_type(await memory.asearch("tea", user_id="ada", limit=3), list[Hit])
    assert_type(await memory.afacts(user_id="ada", history=True), list[Fact])
    assert_type((await memory.acontext("tea", user_id="ada", tokens=100)).text, str)
    assert_type((await memory.awhy("00000000", user_id="ada")).fact, Fact)


async def wrong(memory: Memory) -> None:
    """Hand in what no verb takes."""
    await memory.aadd(7)  # ty: ignore[invalid-argument-type]
    await memory.asearch("tea", users="ada")  # ty: ignore[unknown-argument]
    await memory.acontext()  # ty: ignore[missing-argument]
    await memory.afacts(limit="many")  # ty: ignore[invalid-argument-type]
