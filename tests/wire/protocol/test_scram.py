"""SCRAM-SHA-256 against the RFC's own example, a driver's verifier, and clients that get it wrong."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import AuthFailed
from dpsql.wire.protocol.scram import Exchange, Verifier
from tests.wire.guess import proof

RFC_VERIFIER = (
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
    "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
)
"""Of the password `pencil` with the salt of RFC 7677."""


END_POINT = bytes(range(200, 232))
"""The hash of some certificate."""


def _log_in(
    verifier: Verifier,
    password: str,
    *,
    header: str = "n,,",
    binding: str | None = None,
    end_point: bytes | None = None,
    shown: bytes = b"",
) -> bytes:
    """Go through the exchange as a client does, to which the certificate `shown` was shown."""
    exchange = Exchange(verifier, end_point=end_point, bound=bool(shown))
    bare = "n=,r=rOprNGfwEbeRWgbNEkqO"
    challenge = exchange.challenge((header + bare).encode())
    nonce = challenge.split(b",")[0].decode()
    without_proof = f"c={base64.b64encode((binding or header).encode() + shown).decode()},{nonce}"
    return exchange.conclude(without_proof.encode() + b",p=" + proof(password, challenge, bare, without_proof))


def test_verifier_of_the_rfc_is_read_and_written() -> None:
    """The spelling is PostgreSQL's, and knows the password of the RFC's example."""
    verifier = Verifier.parse(RFC_VERIFIER)
    assert str(verifier) == RFC_VERIFIER
    assert _log_in(verifier, "pencil").startswith(b"v=")


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1))
def test_right_password_is_let_in(password: str) -> None:
    """Whatever it is."""
    assert _log_in(Verifier.of(password, iterations=4096), password).startswith(b"v=")


@pytest.mark.parametrize("password", ["", "Pencil", "pencil ", "pencilpencil"])
def test_wrong_password_is_not(password: str) -> None:
    """Not even a nearly right one."""
    with pytest.raises(AuthFailed):
        _log_in(Verifier.parse(RFC_VERIFIER), password)


def test_server_proves_that_it_knows_the_password() -> None:
    """The last message is the server's signature, which a client checks."""
    verifier = Verifier.parse(RFC_VERIFIER)
    assert len(base64.b64decode(_log_in(verifier, "pencil")[2:])) == 32


@pytest.mark.parametrize("header", ["p=tls-unique,,", "x,,", ",,", "n,a=admin,"])
def test_channel_binding_and_odd_headers(header: str) -> None:
    """What was not offered is refused; an authorisation name is ignored, as PostgreSQL ignores the name."""
    if header == "n,a=admin,":
        assert _log_in(Verifier.parse(RFC_VERIFIER), "pencil", header=header)
    else:
        with pytest.raises(AuthFailed):
            _log_in(Verifier.parse(RFC_VERIFIER), "pencil", header=header)


PLUS = "p=tls-server-end-point,,"


def test_log_in_is_bound_to_the_certificate() -> None:
    """Who saw the server's own is let in, who saw another's is not, whatever the password."""
    verifier = Verifier.parse(RFC_VERIFIER)
    assert _log_in(verifier, "pencil", header=PLUS, end_point=END_POINT, shown=END_POINT).startswith(b"v=")
    for password, shown in (("Pencil", END_POINT), ("pencil", END_POINT[::-1]), ("pencil", END_POINT + b"x")):
        with pytest.raises(AuthFailed):
            _log_in(verifier, password, header=PLUS, end_point=END_POINT, shown=shown)


@pytest.mark.parametrize(
    ("header", "end_point", "shown"),
    [
        ("y,,", END_POINT, b""),  # believes that nothing was offered
        (PLUS, END_POINT, b""),  # binds under the mechanism that does not
        ("n,,", END_POINT, END_POINT),  # does not under the one that does
        ("p=tls-unique,,", END_POINT, END_POINT),
        (PLUS, None, b""),
    ],
)
def test_binding_that_does_not_fit_what_was_offered_is_refused(
    header: str, end_point: bytes | None, shown: bytes
) -> None:
    """Somebody in the middle may have changed the offer."""
    with pytest.raises(AuthFailed):
        _log_in(Verifier.parse(RFC_VERIFIER), "pencil", header=header, end_point=end_point, shown=shown)


@pytest.mark.parametrize(("header", "end_point"), [("n,,", END_POINT), ("n,,", None), ("y,,", None)])
def test_nobody_has_to_bind(header: str, end_point: bytes | None) -> None:
    """A client that can't, or was not offered it, is let in by its password."""
    assert _log_in(Verifier.parse(RFC_VERIFIER), "pencil", header=header, end_point=end_point).startswith(b"v=")


def test_changed_header_is_noticed() -> None:
    """Somebody in the middle may not take channel binding away."""
    with pytest.raises(AuthFailed):
        _log_in(Verifier.parse(RFC_VERIFIER), "pencil", header="n,,", binding="y,,")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_only_a_failed_log_in(first: bytes, last: bytes) -> None:
    """No other exception leaves the exchange."""
    exchange = Exchange(Verifier.parse(RFC_VERIFIER))
    for step, sent in ((exchange.challenge, first), (exchange.conclude, last)):
        with contextlib.suppress(AuthFailed):
            assert step(sent).startswith(b"r=")


@given(st.text(max_size=100))
def test_any_text_is_a_verifier_or_a_value_error(written: str) -> None:
    """Nothing else happens to a configuration's text."""
    with pytest.raises(ValueError, match="not a SCRAM-SHA-256 verifier"):
        Verifier.parse(written)


@pytest.mark.parametrize(
    "written",
    [RFC_VERIFIER[:-8] + "AAAA=", RFC_VERIFIER.replace("4096", "0"), RFC_VERIFIER.replace("SHA-256", "SHA-1")],
)
def test_damaged_verifier_is_none(written: str) -> None:
    """A key of the wrong length, no iterations, another hash."""
    with pytest.raises(ValueError, match="not a SCRAM-SHA-256 verifier"):
        Verifier.parse(written)


def test_nobody_has_a_salt_but_no_password() -> None:
    """The salt of a name that does not exist is the same each time; no password fits."""
    first, again = (Verifier.of_nobody("mallory", b"secret") for _ in range(2))
    assert (first.salt, first.iterations) == (again.salt, again.iterations)
    assert Verifier.of_nobody("trudy", b"secret").salt != first.salt
    with pytest.raises(AuthFailed):
        _log_in(first, "")


def test_made_up_verifiers_look_like_the_others() -> None:
    """Of each form some, with as many iterations and as long a salt, and a name keeps its own."""
    others = [Verifier(n, bytes(length), bytes(32), bytes(32)) for n, length in ((4096, 16), (9999, 12), (9999, 12))]
    made = [Verifier.of_nobody(f"mallory{n}", b"secret", others) for n in range(100)]
    assert {(verifier.iterations, len(verifier.salt)) for verifier in made} == {(4096, 16), (9999, 12)}
    assert made[7].salt == Verifier.of_nobody("mallory7", b"secret", others).salt


def test_password_is_prepared_as_clients_do() -> None:
    """Full-width letters and soft hyphens are the same password as without (RFC 4013)."""
    assert _log_in(Verifier.of("\uff50\u00adw", iterations=4096), "pw").startswith(b"v=")
