"""The runner of the settings is there, or is named with what to install."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from refold.cli import main
from refold.errors import Usage


def test_threads_need_nothing_more():
    from prefect.task_runners import ThreadPoolTaskRunner

    from flows.runner import runner

    assert isinstance(runner("threads"), ThreadPoolTaskRunner)


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_runner_that_is_not_installed_is_named_with_its_extra(name):
    from flows.runner import EXTRAS, runner

    if find_spec(EXTRAS[name][0]) is not None:
        pytest.skip("it is installed here")
    with pytest.raises(Usage, match=f"nightly.runner is {name}") as caught:
        runner(name)
    assert caught.value.hint == f"pip install 'refold[{name}]'"


def test_every_runner_of_the_settings_is_known():
    from flows.runner import EXTRAS
    from refold.settings import SECTIONS

    holds, _ = SECTIONS["nightly"]["runner"]
    assert all(holds(name) for name in ("threads", *EXTRAS))


def test_serve_says_at_once_that_a_runner_is_not_installed(tmp_path, monkeypatch, capsys):
    from flows.runner import EXTRAS

    if find_spec(EXTRAS["ray"][0]) is not None:
        pytest.skip("it is installed here")
    own = tmp_path / "own.toml"
    own.write_text('[nightly]\nrunner = "ray"\n')
    monkeypatch.setenv("REFOLD_CONFIG", str(own))
    assert main(["serve", "--store", str(tmp_path / "store")]) == Usage.exit_code
    assert "refold[ray]" in "".join(capsys.readouterr())
