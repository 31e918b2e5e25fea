"""Mode: where the answers of a run come from. It is alone here because a command line names it without asking anything."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """Where answers come from."""

    LIVE = "live"  # from a recording of exactly this request, else from the provider
    REPLAY = "replay"  # from recordings alone: what is not recorded is an error
    VERIFY = "verify"  # from recordings, and the provider is asked whether it would say the same again
    REFRESH = "refresh"  # from the provider, recorded under the next draw; what the same run asked before, it keeps
