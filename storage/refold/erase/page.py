"""The page of a certificate: for people, on paper or screen, in one file that asks nothing of anybody else.

It says what the signed JSON says, word for word, and holds that JSON. Where a browser runs scripts and knows Ed25519 it checks the
signature by itself, under the key that the certificate names; whether that is the operator's key is for a person to compare.
"""

from __future__ import annotations

import base64
from html import escape

from refold import html
from refold.log.note import Verifier
from refold.receipts.certificate import KIND, State, asked_for, day
from refold.receipts.form import Body

TITLES = {
    State.CERTIFIED: "Certificate of erasure",
    State.CERTIFIED_EXCEPT: "Certificate of erasure, with exceptions",
    State.REFUSED: "No certificate: the erasure could not be proven",
}
LEADS = {
    State.CERTIFIED: "What was asked for below was erased here. Every file of this memory was searched for it afterwards, and no trace was "
    "found.",
    State.CERTIFIED_EXCEPT: "What was asked for below was erased here, and no trace was found in any file of this memory afterwards. "
    "Something else is still open: it is named under this, and a new certificate follows when it is settled.",
    State.REFUSED: "Something was erased, but nobody can say by this paper that all of it is gone. What is missing is named under this.",
}
WORDS = (
    "Everything is kept under keys. A record is dark when its key is destroyed: without a copy of that key nobody can read it any more, "
    "neither here nor in a copy. What was concluded from such records was made anew without them. Numbers of "
    "records are rounded up, so that they tell little about anybody."
)
WATCHED = {
    "declared": "by the program's own rules (declared)",
    "tripwire": "by a watch on what it opened (tripwire)",
    "kernel": "by the operating system (kernel)",
}
CLAIMED = {
    "closure": "nothing that is left was made with what was erased (closure)",
    "distribution": "it is as if what was erased had never been there, chance included (distribution)",
}
CONTROLS = {
    "found": "found, as it has to be: the search does find",
    "missing": "not found: the search may have missed other things",
    "none": "there was nothing to try it on",
}
MOODS = {State.CERTIFIED: "good", State.CERTIFIED_EXCEPT: "warn", State.REFUSED: "bad"}
SCRIPT = """
const said=document.getElementById("check");
const bytes=text=>Uint8Array.from(atob(text),letter=>letter.charCodeAt(0));
const hex=text=>Uint8Array.from(text.match(/../g),two=>parseInt(two,16));
(async()=>{
 const raw=bytes(document.getElementById("receipt").textContent.trim());
 const end=raw.length-138,body=raw.slice(8,end),sig=hex(new TextDecoder().decode(raw.slice(end+8,end+136)));
 const label=hex(said.dataset.label),message=new Uint8Array(label.length+body.length);
 message.set(label);message.set(body,label.length);
 let key;
 try{key=await crypto.subtle.importKey("raw",hex(said.dataset.key),{name:"Ed25519"},false,["verify"])}
 catch(error){said.textContent="This browser cannot check Ed25519 signatures on this page: use refold verify.";return}
 const holds=await crypto.subtle.verify({name:"Ed25519"},key,sig,message);
 said.textContent=holds?"This page has checked the signature: it holds, under the key shown below."
  :"The signature does not hold: this page was changed, or is incomplete.";
 said.className=holds?"good":"bad";
})();
"""


def page(raw: bytes, body: Body) -> str:
    """Return the page of a certificate that was read from `raw`, its signed JSON."""
    state = State(body["state"])
    verifier = Verifier.parse(body["key"])
    parts = [
        f'<p class="{MOODS[state]}"><strong>{escape(state.value)}</strong></p>',
        f"<p>{escape(LEADS[state])}</p>",
        f'<p class="quiet">{escape(WORDS)}</p>',
        f'<p class="quiet">request <code>{escape(body["request"])}</code> · made on {day(body["made_at"])}</p>',
        *([f'<p class="quiet">replaces the one of SHA-256 <code>{escape(body["replaces"])}</code></p>'] if body["replaces"] else ()),
        *(html.listing("Why it says no more", body["reasons"]) if body["reasons"] else ()),
        *html.section("What was asked", _asked(body)),
        *html.section("What was reached", _reached(body)),
        *html.section("What was looked for afterwards", _scanned(body)),
        *html.listing("What remains", body["remains"]),
        *_copies(body),
        *html.section("The keys that opened it", _root(body)),
        *html.listing("What is not claimed", body["disclaimers"]),
        *_checking(raw, body, verifier),
    ]
    return html.document(TITLES[state], parts, scripts=True)


def _asked(body: Body) -> list[tuple[str, object]]:
    asked = [("to be erased", what) for what in asked_for(body)]
    times = [("received", day(body["received"])), ("due", day(body["due"])), ("erased", day(body["erased_at"]))]
    return [*asked, *times]


def _reached(body: Body) -> list[tuple[str, object]]:
    reached = body["reached"]
    ways = {
        "shred": "the keys were destroyed first, then the bytes were removed",
        "keep-ciphertext": "the keys were destroyed; the files of the log stay as they were, for nobody to read",
    }
    return [
        ("records (events) that went dark", _at_most(reached["events_at_most"])),
        ("of these, that were about others too", _at_most(reached["shared_events_at_most"])),
        ("of these, kept for others, redacted", _at_most(reached["kept_redacted_at_most"])),
        ("recorded calls to language models that went dark", _at_most(reached["calls_at_most"])),
        ("calls that were made again without it", _at_most(reached["calls_made_at_most"])),
        ("calls answered by what was recorded", _at_most(reached["calls_replayed_at_most"])),
        ("how", ways[body["mode"]]),
        ("as it was planned", "yes" if body["as_planned"] else "no"),
        ("how making it anew was kept from anything else", WATCHED[body["closure_level"]]),
        ("what is claimed of it", CLAIMED[body["claim"]]),
        ("entries of the log that say what went", ", ".join(map(str, reached["erasure_entries"])) or "none"),
        ("number of what was made anew (generation)", reached["generation"]),
    ]


def _at_most(number: int) -> str:
    return f"at most {number:,}" if number else "none"


def _scanned(body: Body) -> list[tuple[str, object]]:
    scan = body["scan"]
    return [
        ("looked for on", day(body["scanned_at"])),
        ("traces found", f"{scan['hits']:,}"),
        ("files read", f"{scan['files']:,}, {scan['bytes']:,} bytes"),
        ("rows read with the keys that live", f"{scan['rows']:,}"),
        ("things looked for", _at_most(scan["needles_at_most"])),
        ("left out, for they also stand in what stays", _at_most(scan["needles_shared_at_most"])),
        ("encodings met", f"{scan['encodings']:,}"),
        ("files of ciphertext", f"{scan['sealed']:,}"),
        ("files that could not be decoded", f"{scan['undecodable']:,}"),
        ("control: something that is still there", CONTROLS[scan["control"]]),
    ]


def _root(body: Body) -> list[tuple[str, object]]:
    root, reached = body["root"], body["reached"]
    return [
        ("number of the keys that are gone (epoch)", reached["epoch_before"]),
        ("number of the keys that live", reached["epoch_after"]),
        ("where the key of the keys (root) was kept", "a file" if root["custody"] == "file" else "a hardware token (PKCS #11)"),
        ("destroyed on", day(root["destroyed_at"])),
        ("without effect from", day(root["dark_at"])),
    ]


def _copies(body: Body) -> list[str]:
    if not body["copies"]:
        return [f"<section><h2>What is elsewhere</h2><p>No copy elsewhere is in the register; {escape(body['derived'])}.</p></section>"]
    rows = [
        [copy["id"], copy["kind"], copy["state"], copy["owner"], "" if copy["due"] is None else day(copy["due"])] for copy in body["copies"]
    ]
    grid = html.grid(("copy", "kind", "state", "owed by", "due"), rows)
    return ["<section><h2>What is elsewhere</h2>", *grid, f'<p class="quiet">{escape(body["derived"])}</p></section>']


def _checking(raw: bytes, body: Body, verifier: Verifier) -> list[str]:
    return [
        "<section><h2>How to check this</h2>",
        f'<p id="check" data-key="{verifier.public_key.hex()}" data-label="{KIND.label.hex()}">'
        "Without scripts this page does not check its own signature.</p>",
        "<p>Whether the key is the operator's, compare with what they published. With the signed file beside this page: "
        "<code>refold verify FILE --key KEYS</code>, without a network and without the memory.</p>",
        f"<p>signed by <code>{escape(body['key'])}</code><br>log <code>{escape(body['origin'])}</code></p>",
        f'<script type="text/plain" id="receipt">{base64.b64encode(raw).decode()}</script><script>{SCRIPT}</script></section>',
    ]
