"""Checked: a request that is made of what a run declares and of nothing else, rendered. What is not is refused before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from refold.calls.keys import Input, material, replay_tag
from refold.calls.strict import parse
from refold.errors import Undeclared
from refold.fold.request import Declared, Rendered, Request, Task, canonical_form, json_text, render
from refold.keys.keyring import Keyring
from refold.model import EventId


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the requests of a run may be made of, and how the keys of the events behind them are derived."""

    declared: Declared
    inputs: Mapping[EventId, Input]


@dataclass(frozen=True, slots=True)
class Checked:
    """A request that was checked and rendered."""

    request: Request
    inputs: tuple[Input, ...]
    rendered: Rendered
    canonical_form: bytes
    joined: bytes  # K

    def tag(self, draw: int) -> bytes:
        return replay_tag(self.joined, self.canonical_form, self.rendered.body, draw)


class Checks:
    """Checks the requests of one run."""

    def __init__(self) -> None:
        self._rest: dict[tuple[object, ...], str] = {}  # what follows the messages of a request, by what it follows from

    def checked(self, request: Request, manifest: Manifest, keyring: Keyring) -> Checked:
        """Render a request that a manifest admits. Raises TypeError, Undeclared, KeyMissing where an event was erased."""
        if type(request) is not Request:
            raise TypeError(f"a request is expected, found {type(request).__name__}")
        if not all(manifest.declared.admits(segment) for segment in request.segments):
            raise Undeclared("a request has a segment that this run does not declare; nothing was sent")
        if not manifest.inputs.keys() >= set(request.event_ids):
            raise Undeclared("a request rests on an event that this run does not declare; nothing was sent")
        rendered = self.rendered(request)
        inputs = tuple(manifest.inputs[event_id] for event_id in request.event_ids)
        return Checked(request, inputs, rendered, canonical_form(request), material(keyring, inputs))

    def rendered(self, request: Request) -> Rendered:
        """Render a request, and hold the bytes against what its segments say. Raises Undeclared."""
        rendered = render(request)
        if rendered.body != self._said(request):
            raise Undeclared("a rendering says something else than its segments; nothing was sent")
        return rendered

    def _said(self, request: Request) -> bytes:
        """Return what a rendering has to say, put together without it: what follows the messages once, for it is the recipe's own."""
        of_recipe = request.parameters, request.schema, request.extra_body
        if of_recipe not in self._rest:
            fields = {name: parse(value.encode()) for name, value in request.parameters}
            if request.schema is not None:
                form = {"name": request.schema.name, "strict": True, "schema": parse(request.schema.text.encode())}
                fields["response_format"] = {"type": "json_schema", "json_schema": form}
            fields |= {name: parse(value.encode()) for name, value in request.extra_body}
            self._rest[of_recipe] = json_text(fields)[1:]
        rest = self._rest[of_recipe]
        return f"{json_text({'model': request.model, **_told(request)})[:-1]}{',' * (rest != '}')}{rest}".encode()


def _told(request: Request) -> dict[str, object]:
    texts = ["".join(segment.text for segment in message.segments) for message in request.messages]
    if request.task is Task.EMBED:
        return {"input": "".join(texts)}
    if request.task is Task.RERANK:
        query, *documents = (segment.text for segment in request.segments)
        return {"query": query, "documents": documents}
    voices = (str(message.voice) for message in request.messages)
    return {"messages": [{"role": voice, "content": text} for voice, text in zip(voices, texts, strict=True)]}
