"""What `refold help TOPIC` explains of the places of a memory: where it lives, what opens it, and its copies."""

from __future__ import annotations

TOPICS = {
    "places": (
        "the three places a memory lives in, and how to back them up",
        """
The store (--store, REFOLD_STORE, else ./memory) holds the log and the state, sealed and encrypted.
It may be copied, mirrored and backed up.

The vault (--vault, REFOLD_VAULT, else your state directory) holds the keys, wrapped.
Back it up apart from the store, never in the same backup.

The root (--root, REFOLD_ROOT, else your config directory) opens the vault.
Keep it out of every backup of the vault. Whoever loses it loses the memory, for good.

`refold init` makes the three and prints where they are; `refold status` prints them again.
""",
    ),
    "keys": (
        "what opens what, and what to do when something is lost",
        """
Every event is sealed under a key of its own, made from the secrets in the vault; the vault is opened by the root.

Vault or root lost: put it back from your backup, or name the right place with --vault and --root. On a machine that has neither,
`refold restore --keys FILE --identity FILE` makes both of a backup of the keys; then `refold restore DIR` makes the store.
Without both, the store cannot be read by anybody.

    refold init --custody file       the root is a file, at --root: nothing else is needed
    refold init --custody pkcs11     the root is a key in a hardware token, made in it, which cannot be read out of it

A token needs the extra hsm (pip install 'refold[hsm]') and, in the settings, under [root]: module (its PKCS #11 library), token (its
label), and where its PIN is: pin_env (a variable, REFOLD_PIN by default) or pin_file. The PIN is never an argument, and is written
nowhere. Every command that opens the memory needs them too. Each erasure makes a key for the next epoch and destroys the one before;
a copy of the token would outlive that, so make none.

What keeps the roots is chosen once, when a vault is made: the settings change nothing in one that is there. To move a memory to a token:

    refold backup --keys FILE --recipient FILE
    refold restore --keys FILE --identity FILE --vault NEW     with custody = "pkcs11", module and token in the settings
    cp -r VAULT/requests VAULT/copies NEW                      requests, holds and the register of copies: no backup of the keys has them

From then on name NEW everywhere, try `refold audit --keys`, and destroy FILE, the old vault and its root: until the next erasure they open
all that the token does.

Store and vault of different logs: each store has an origin (in store.json) that its vault must share. Check REFOLD_STORE,
REFOLD_VAULT and REFOLD_ROOT.
""",
    ),
    "copies": (
        "mirrors and backups of the store, the backup of the keys, and what is made of them",
        """
    refold mirror DIR                             make a copy of the store at another place, or bring to it what is new
    refold mirror                                 the same for every mirror in the settings; the nightly flow does it too
    refold backup DIR                             copy the store as it is now, to a folder of its own
    refold backup --keys FILE --recipient FILE    copy the keys, so that only a recipient can open them
    refold restore DIR                            show what store a backup or mirror would make; --confirm makes it
    refold restore --keys FILE --identity FILE    make vault and root of a backup of the keys

Copies of the store hold the log, the recorded calls and what is signed, never the state, which is derived, and never a key. Every file
is checked before it leaves and read again where it arrived; what is damaged is not copied. A copy only gains files, and nothing in it is
written over. It is no store of its own: it can be read like one (--store DIR), nothing is added to it, and no state is made in it. One
that is behind its store says so. It needs hard links.

A mirror follows the store. A log that does not continue what its mirror holds is refused: it was cut, or it is another history.
A backup is of one moment, under a signed list of its files.

Store and keys are never copied into one another, or side by side into one folder. The recipient makes a key pair once, and gives you the
public half: `openssl genpkey -algorithm X25519 -out private.pem`, `openssl pkey -in private.pem -pubout -out public.pem`.
A backup of the keys has to be made again after each erasure, and the one before destroyed.

Everything is checked before a restore begins, and its place has to be empty. Where the copy is older than what is known of the log, it
says which entries are lost, and the log says so itself from then on, in a signed entry. Then `refold fold` makes the state anew.
""",
    ),
}
