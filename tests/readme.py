"""What the README files show, as values: their fenced blocks, and the commands in a block with the output it promises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Shown:
    """One command of a console block, and what it is said to print."""

    command: str
    output: str
    line: int


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a Markdown file."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(each[1], each[2], text.count("\n", 0, each.start()) + 1) for each in found]


def shown(block: Block) -> list[Shown]:
    """Return the commands (lines after `$ `) of a console block with the lines that follow each."""
    commands: list[tuple[str, list[str], int]] = []
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            commands.append((line[2:], [], number))
        elif commands:
            commands[-1][1].append(line)
    return [Shown(command, "\n".join(lines).strip("\n"), number) for command, lines, number in commands]
