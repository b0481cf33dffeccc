"""A request as a text that lasts: it is planned again where another process has to know what was measured."""

import json
from dataclasses import asdict

from dpsql.gateway.request import Request
from dpsql.question import Argument, Settings

_LONGEST = 64_000
"""Characters of a question that is kept."""


def written_question(request: Request) -> str | None:
    """Return a request's statement, parameters and settings; None where it reads tables of its session, or is long."""
    settings = {name: value for name, value in asdict(request.settings).items() if value is not None}
    if settings.pop("temporary"):
        return None
    arguments = [[argument.text, argument.type] for argument in request.arguments]
    text = json.dumps([request.question.text, arguments, settings], ensure_ascii=False)
    return text if len(text) <= _LONGEST else None


def read_question(text: str) -> tuple[str, tuple[Argument, ...], Settings] | None:
    """Return the statement, the parameters and the settings that a text has; None where another dpsql wrote it otherwise."""
    try:
        statement, arguments, settings = json.loads(text)
        return str(statement), tuple(Argument(*argument) for argument in arguments), Settings(**settings)
    except (TypeError, ValueError):
        return None
