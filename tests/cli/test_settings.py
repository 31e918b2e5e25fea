"""Settings: defaults, the user's own file, principals, and what is wrong named by file and key."""

import pytest

from refold import settings
from refold.errors import NotAllowed, Usage
from refold.model import Scope


def load(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return settings.load({"REFOLD_CONFIG": str(path)})


def test_the_shipped_settings_are_valid_and_know_the_operator():
    shipped = settings.load({})
    assert shipped.serve.host == "127.0.0.1"
    assert shipped.principal("operator").labels is None
    assert shipped.verify == settings.Verify(False, False, False)


def test_an_own_file_changes_what_it_names_and_nothing_else(tmp_path):
    own = load(tmp_path, '[serve]\nport = 4300\n[principals.ada]\nlabels = ["family"]\nusers = ["ada"]\n')
    shipped = settings.load({})
    assert own.serve.port == 4300
    assert own.serve.host == shipped.serve.host
    assert own.nightly == shipped.nightly
    assert own.principal("ada") == settings.Principal("ada", frozenset({"family"}), ("ada",))
    assert own.principal("operator").labels is None


def test_the_file_in_the_help_is_valid(tmp_path):
    from refold.cli.topics import TOPICS

    _, text = TOPICS["settings"]
    example = "\n".join(line.removeprefix("    ") for line in text.splitlines() if line.startswith("    "))
    assert load(tmp_path, example).serve == settings.load({}).serve


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[serve]\nport = 0\n", "serve.port"),
        ('[serve]\nport = "4200"\n', "serve.port"),
        ("[serve]\nport = true\n", "serve.port"),
        ("[serve]\nprot = 4200\n", "serve.prot"),
        ('[nightly]\ncron = "daily"\n', "nightly.cron"),
        ('[nightly]\ntimezone = "Mars/Olympus"\n', "nightly.timezone"),
        ('[nightly]\ntimezone = "../../etc/passwd"\n', "nightly.timezone"),
        ('[nightly]\nrunner = "processes"\n', "nightly.runner"),
        ("[verify]\nrequire_witness = 1\n", "verify.require_witness"),
        ("[verify]\nrequire = true\n", "verify.require"),
        ("serve = 1\n", "serve"),
        ("[sevre]\n", "sevre"),
        ("[principals]\nada = 1\n", "principals.*"),
        ('[principals.ada]\nlabels = "family"\n', "principals.*.labels"),
        ('[principals.ada]\nall = "yes"\n', "principals.*.all"),
        ("[principals.ada]\nlabels = [1]\n", "principals.*.labels"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(tmp_path, text, key):
    with pytest.raises(Usage) as refused:
        load(tmp_path, text)
    assert key in refused.value.message.split()
    assert refused.value.path == str(tmp_path / "own.toml")


def test_bad_toml_is_located_and_not_quoted(tmp_path):
    with pytest.raises(Usage) as refused:
        load(tmp_path, "[serve]\nRuth = = 1\n")
    assert "line 2" in refused.value.message
    assert "Ruth" not in refused.value.message


def test_settings_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "own.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Usage):
        settings.load({"REFOLD_CONFIG": str(path)})
    for missing in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(Usage):
            settings.load({"REFOLD_CONFIG": str(missing)})


def test_an_unknown_principal_is_refused_without_its_name():
    with pytest.raises(Usage) as refused:
        settings.load({}).principal("mallory")
    assert "mallory" not in str(refused.value)


def test_a_principal_is_kept_to_its_users():
    one = settings.Principal("ada", frozenset(), ("ada",))
    two = settings.Principal("team", frozenset(), ("ada", "ben"))
    free = settings.Principal("operator", None)
    assert one.limit(Scope()) == Scope("ada")
    assert one.limit(Scope("ada", "helper")) == Scope("ada", "helper")
    assert two.limit(Scope("ben")) == Scope("ben")
    assert free.limit(Scope("ada")) == Scope("ada")
    with pytest.raises(NotAllowed):
        one.limit(Scope("ben"))
    with pytest.raises(Usage):
        two.limit(Scope())
    with pytest.raises(NotAllowed):
        settings.Principal("nobody", frozenset(), ()).limit(Scope())
