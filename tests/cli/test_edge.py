"""The edge of the command line: parsing, envelopes, exit codes, streams."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from refold import cli, errors
from refold.cli import arguments, catalogue, command, envelope
from refold.cli import help as first_steps
from refold.cli.catalogue import COMMANDS

REFOLD = [sys.executable, "-c", "import sys; from refold.cli import main; sys.exit(main())"]


def run(*argv, **options):
    return subprocess.run([*REFOLD, *argv], capture_output=True, text=True, timeout=60, **options)


def outcome_of(monkeypatch, raised):
    """Run `refold help` with a body that raises."""
    from refold.cli import help as module

    def body(_):
        raise raised

    monkeypatch.setitem(module.RUNS, "help", command.Command(lambda parser: None, body))
    return cli.attempt(["help"])[1]


def every_error(kind=errors.RefoldError):
    yield kind
    for each in kind.__subclasses__():
        yield from every_error(each)


def test_every_error_has_an_exit_code_that_the_help_lists():
    listed = {code: name for code, name, _ in catalogue.EXIT_CODES}
    assert {kind.exit_code: kind.exit_class for kind in every_error()}.items() <= listed.items()


@pytest.mark.parametrize("kind", [*every_error()], ids=lambda kind: kind.__name__)
def test_every_error_becomes_an_envelope_with_its_place_and_its_hint(monkeypatch, kind):
    raised = kind("what was found", path="/x", entry_id="7", hint="refold status", details={"count": 3})
    outcome = outcome_of(monkeypatch, raised)
    parsed = json.loads(envelope.as_json("help", outcome))
    assert parsed["status"] == "FAIL"
    assert (outcome.exit_code, parsed["exit_class"]) == (kind.exit_code, kind.exit_class)
    assert parsed["findings"] == [
        {
            "code": kind.code,
            "severity": "error",
            "message": "what was found",
            "path": "/x",
            "entry_id": "7",
            "remediation": "refold status",
            "details": {"count": 3},
        }
    ]


def test_a_fault_of_our_own_says_its_type_and_place_and_not_its_words(monkeypatch):
    outcome = outcome_of(monkeypatch, ValueError("Ruth lives in Munich"))
    text = envelope.as_json("help", outcome)
    assert outcome.exit_code == 1
    assert "ValueError in refold.cli" in text
    assert "Ruth" not in text


def test_what_follows_two_dashes_is_no_option():
    assert arguments.wants_json(["add", "--format", "json", "--", "x"])
    assert not arguments.wants_json(["add", "--", "--format", "json"])


def test_the_envelope_has_the_keys_of_its_schema_in_every_case(capsys):
    keys = ["output_schema_version", "command", "format_version", "status", "exit_class", "data", "findings", "disclaimers"]
    for argv in (["--help"], ["help", "json"], ["bogus"], ["search"], [], ["--version"], ["facts", "--limit", "x"], ["--help", "--bogus"]):
        cli.main([*argv, "--format", "json"])
        printed = capsys.readouterr()
        assert printed.err == ""
        assert list(json.loads(printed.out)) == keys
        assert printed.out.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_that_ends_well(name, capsys):
    code = cli.main([*name.split(), "--help"])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    assert printed.out.startswith(f"usage: refold {name}")
    assert max(map(len, printed.out.splitlines())) <= 100


def test_the_overview_lists_every_command_and_exit_code():
    shown = run("--help").stdout
    for name, entry in COMMANDS.items():
        assert f"  {name}" in shown
        assert entry.summary in shown
    for code, name, _ in catalogue.EXIT_CODES:
        assert f"{code:>3}  {name}" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_every_topic_that_a_message_sends_to_exists():
    import refold
    from refold.cli.help import explain

    code = "\n".join(path.read_text(encoding="utf-8") for path in Path(refold.__file__).parent.rglob("*.py"))
    named = set(re.findall(r"refold help ([a-z][a-z -]*[a-z])", code))
    assert {"scope", "principals"} <= named
    for topic in named:
        assert explain(topic)


def commands_named(code: str) -> set[str]:
    """Return the commands that a text names: after `refold`, or a subcommand alone in quotes."""
    groups = {name.split()[0] for name in COMMANDS if " " in name}
    named = {
        " ".join(words) if words[0] in groups and words[1] else words[0] for words in re.findall(r"refold ([a-z]+)(?: ([a-z]+))?", code)
    }
    return named | {" ".join(words) for words in re.findall(r"`([a-z]+) ([a-z]+)\b", code) if words[0] in groups}


def test_a_command_that_is_not_there_is_noticed():
    named = commands_named(
        'hint="refold shred plan", "refold subject readmit NAME", only `subject readmit` brings it back, refold facts --all'
    )
    assert named == {"shred", "subject readmit", "facts"}


def test_every_command_that_a_message_sends_to_exists():
    import refold

    paths = [*Path(refold.__file__).parent.rglob("*.py"), *Path(refold.__file__).parents[1].rglob("*.md")]
    quoted = {path: re.findall(r"""["'`](?:refold|subject|migrate) [^"'`\n]*["'`]""", path.read_text(encoding="utf-8")) for path in paths}
    named = {name for texts in quoted.values() for text in texts for name in commands_named(text)}
    groups = {name.split()[0] for name in COMMANDS if " " in name}
    assert len(named) > 10
    assert named <= COMMANDS.keys() | groups


def test_a_code_means_one_thing():
    import refold
    from refold.recover.findings import CODES

    package = Path(refold.__file__).parent
    paths = [*package.rglob("*.py"), *(package.parents[1] / "flows").rglob("*.py")]
    written = Counter(code for path in paths for code in re.findall(r'"(RF-[A-Z]+-[0-9]+)"', path.read_text(encoding="utf-8")))
    assert {code.code for code in CODES} | {kind.code for kind in every_error()} <= written.keys()
    assert {code for code, places in written.items() if places > 1} == set()


def test_options_may_stand_before_or_after_the_command():
    for argv in (["--format", "json", "help", "scope"], ["help", "--format", "json", "scope"], ["help", "scope", "--format=json"]):
        assert json.loads(run(*argv).stdout)["command"] == "help"


SECRET = "Ruth-has-a-secret"


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "argv",
    [
        [SECRET],
        ["help", f"--{SECRET}"],
        ["add", "text", SECRET],
        ["facts", "--limit", SECRET],
        ["facts", f"--history={SECRET}"],
        ["facts", "--format", SECRET],
        ["add", "text", "--said-at", SECRET],
        ["add", "text", "--metadata", SECRET],
        ["add", "text", "--source", SECRET, "--store", "{store}"],
        ["facts", "--as-of", SECRET],
        ["facts", "--valid-at", SECRET],
        ["help", SECRET],
        [f"--{SECRET}"],
        ["subject", SECRET],
        ["--as", SECRET, "facts"],
        ["import", "x", "--reader", SECRET, "--store", "{store}"],
    ],
    ids=lambda argv: " ".join(argv).replace(SECRET, "SECRET"),
)
def test_what_was_typed_is_never_quoted_in_a_complaint(capsys, tmp_path, argv, form):
    from refold.memory import Memory

    places = {"store": tmp_path / "s", "vault": tmp_path / "v", "root": tmp_path / "r"}
    Memory.create(**places).close()
    given = [word for name in places for word in (f"--{name}", str(places[name]))] if "{store}" in argv else []
    argv = [each for each in argv if each not in ("--store", "{store}")]
    code = cli.main([*given, *([] if "--format" in argv else ["--format", form]), *argv])
    printed = capsys.readouterr()
    assert code == 2
    assert SECRET not in printed.out + printed.err


def test_a_slip_of_the_finger_is_answered_with_the_nearest_word():
    assert "did you mean search?" in run("serach", "x").stderr
    assert "did you mean --limit?" in run("facts", "--limti", "3").stderr


def test_without_a_word_it_says_the_first_steps_and_each_is_a_command(capsys: pytest.CaptureFixture[str]):
    assert cli.main([]) == 0
    told = capsys.readouterr().out
    commands = [step for _, step, _ in first_steps.FIRST]
    assert all(step in told for step in commands)
    assert {arguments.choose(shlex.split(step)[1:])[0] for step in commands} <= set(COMMANDS.values())


def test_without_a_standard_output_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    places = [word for name in ("store", "vault", "root") for word in (f"--{name}", str(tmp_path / name))]
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["init", *places]) == 2
    assert "standard output is closed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_a_standard_error_a_command_works(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stderr", None)
    assert (cli.main(["--version"]), cli.main(["status", "--store", "nowhere"])) == (0, 2)
    sys.stderr.close()
    assert capsys.readouterr().out.startswith("refold ")


def test_no_file_gets_the_number_of_a_closed_stream():
    code = "import os; from refold import cli; cli.main(['--version']); os._exit(os.open(os.devnull, os.O_RDONLY))"
    assert subprocess.run(["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code]).returncode > 2


def test_a_closed_pipe_ends_quietly():
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen([*REFOLD, "--help"], stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        assert process.stderr is not None
        complaint = process.stderr.read()
        assert (process.wait(30), complaint) == (catalogue.PIPE_CLOSED, b"")


def test_a_full_disk_under_the_output_is_said():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        printed = subprocess.run([*REFOLD, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert printed.returncode == 1
    assert "could not be written" in printed.stderr
    assert "Traceback" not in printed.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_ctrl_c_ends_with_one_sentence(form):
    """The command waits for standard input when it is interrupted."""
    script = "import sys\nfrom refold import cli\nprint('up', file=sys.stderr, flush=True)\nsys.exit(cli.main())"
    with subprocess.Popen(
        [sys.executable, "-c", script, "search", "-", "--user", "ada", "--format", form],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "up\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == catalogue.INTERRUPTED
    if form == "json":
        assert json.loads(out)["exit_class"] == "interrupted"
        assert err == ""
    else:
        assert (out, err.count("\n")) == ("", 1)


def given(**values):
    import argparse

    return argparse.Namespace(**{"user": None, "agent": None, "run_id": None, "text": None} | values)


def test_standard_input_gives_a_line_to_each_dash_and_the_rest_to_the_text():
    asked = given(user="-", agent="helper", text="-")
    arguments.fill_from_stdin(asked, io.BytesIO("ada\r\nI live\nin Zürich.\n".encode()))
    assert (asked.user, asked.agent, asked.text) == ("ada", "helper", "I live\nin Zürich.")


def test_standard_input_may_give_short_values_alone():
    for read in (b"ada", b"ada\n"):
        asked = given(user="-", text="hello")
        arguments.fill_from_stdin(asked, io.BytesIO(read))
        assert (asked.user, asked.text) == ("ada", "hello")


@pytest.mark.parametrize("read", [b"ada", b"\xff\xfe", b"x" * (arguments.STDIN_BYTES_MAX + 1)])
def test_standard_input_that_is_short_or_long_or_no_text_is_refused(read):
    with pytest.raises(errors.Usage):
        arguments.fill_from_stdin(given(user="-", text="-"), io.BytesIO(read))


def test_standard_input_is_left_alone_where_no_dash_asks_for_it():
    arguments.fill_from_stdin(given(text="hello"), io.BytesIO(b"\xff"))


def test_an_argument_that_is_not_utf_8_is_refused():
    with pytest.raises(errors.Usage):
        arguments.fill_from_stdin(given(user="\udcff"))
    assert run(b"help", b"\xff").returncode == 2


def test_what_a_message_carries_cannot_steer_the_terminal():
    finding = envelope.Finding("X", "error", "found \x1b[2J", path="/a\u202eb", remediation="refold \x07")
    assert all(each.isprintable() for line in envelope.finding_lines(finding) for each in line)
    assert envelope.as_json("x", envelope.Outcome(findings=(finding,))).isascii()
