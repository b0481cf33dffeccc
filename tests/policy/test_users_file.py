"""Users are written where they stand, and all else stays as it was."""

import pytest

from dpsql.errors import ConfigError
from dpsql.policy.users_file import users_in, with_key, with_user

_LINE, _SAID = 'bob: {role: r, password: "v"}', {"role": "r", "password": "v"}
_HEAD = "dataset: d  # the first\nroles:\n    r: {}\n"
WAYS = {
    "none": _HEAD,
    "empty": _HEAD + "users: {}  # nobody yet\nrefresh: daily\n",
    "lines": _HEAD + "users:\n  # staff\n  ana: {role: r, password: x}  # Ana\n\nrefresh: daily\n",
    "blocks": _HEAD + "users:\n    ana:\n        role: r\n        password: 'x'\n",
    "braces": _HEAD + "users: {ana: {role: r, password: x}}\nrefresh: daily\n",
    "long braces": _HEAD + "users: {\n  ana: {role: r, password: x}\n}\n",
    "no end": _HEAD + "users:\n  ana: {role: r, password: x}",
    "json": '{"dataset": "d", "users": {"ana": {"role": "r", "password": "x"}}}',
}
_WITH_ANA = [name for name in WAYS if name not in ("none", "empty")]


@pytest.mark.parametrize("way", WAYS)
def test_a_user_is_added_in_any_way_of_writing(way: str) -> None:
    """Every line that was there is there, comments too."""
    text = WAYS[way]
    new = with_user(text, "bob", _LINE, _SAID)
    users = users_in(new)
    assert (users["bob"].role, users["bob"].password) == ("r", "v")
    assert set(users) == {"bob", *(["ana"] if way in _WITH_ANA else [])}
    for comment in ("# the first", "# staff", "# Ana", "# nobody yet", "refresh: daily"):
        assert (comment in new) == (comment in text)


@pytest.mark.parametrize("way", _WITH_ANA)
def test_a_user_is_changed_in_any_way_of_writing(way: str) -> None:
    """A key that is there, or one that is new; and back."""
    text = with_key(WAYS[way], "ana", "password", "new", '"new"')
    assert users_in(text)["ana"].password == "new"  # noqa: S105
    off = with_key(text, "ana", "disabled", "true", "true")
    assert users_in(off)["ana"].disabled
    on = with_key(off, "ana", "disabled", "false", "false")
    assert not users_in(on)["ana"].disabled
    assert users_in(on)["ana"].password == "new"  # noqa: S105


def test_what_cannot_be_changed_here_is_left_alone() -> None:
    """An anchor would change others with it."""
    text = "a: &same {role: r, password: x}\nusers: {ana: *same, bob: *same}\n"
    with pytest.raises(ConfigError, match="written in a way that can't be changed here"):
        with_key(text, "ana", "password", "y", "y")
    with pytest.raises(ConfigError, match='there is no user "eve"'):
        with_key(text, "eve", "password", "y", "y")
