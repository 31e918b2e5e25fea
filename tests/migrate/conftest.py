"""The command line in this process, on places where nothing is yet."""

from tests.cli.conftest import empty_shell

__all__ = ["empty_shell"]
