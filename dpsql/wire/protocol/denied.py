"""PostgreSQL's denials to clients in the shadow: each has a rule, as dpsql's own refusals have, and a next step."""

from dpsql.errors import AccessDenied
from dpsql.wire.protocol.messages import error_body, error_fields, join_error_fields

_CODE, _MESSAGE, _HINT, _DETAIL = b"C", b"M", b"H", b"D"
_TOLD = error_fields(
    error_body(
        AccessDenied(
            "",
            because="privileges-of-clients",
            hint="Clients read the tables that their role may use, and write temporary tables of their own.",
        )
    )
)


def with_rule(body: bytes) -> bytes:
    """Return the body of an error; of one that says that a client may not do something, and no more, with its rule."""
    fields = error_fields(body)
    if fields.get(_CODE) != _TOLD[_CODE] or _DETAIL in fields:
        return body
    return join_error_fields({_HINT: _TOLD[_HINT], **fields, _DETAIL: _TOLD[_DETAIL]})
