"""Every intent that the log commit of a transaction can have: to import this makes known how each of them is made."""

from __future__ import annotations

from refold.copies import restore
from refold.migrate import finalize

KNOWN = (finalize.INTENT, restore.INTENT)
