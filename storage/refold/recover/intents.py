"""Every intent that the log commit of a transaction can have, and how each of them is made: what whoever recovers hands to the journal."""

from __future__ import annotations

from refold.copies import restore
from refold.erase import intents as erasing
from refold.heads import rotation
from refold.journal import Intents
from refold.migrate import finalize
from refold.recover import gap, shorter

KNOWN: Intents = {**erasing.INTENTS, **finalize.INTENTS, **gap.INTENTS, **rotation.INTENTS, **restore.INTENTS, **shorter.INTENTS}
