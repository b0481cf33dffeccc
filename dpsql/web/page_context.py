"""The context that all pages share: the site, the visitor, the templates, and forms that are checked before they are read."""

from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Template
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.templating import Jinja2Templates

from dpsql.web.asking.shelf import Shelf
from dpsql.web.attempts import Attempts
from dpsql.web.sessions import Sessions, Visitor
from dpsql.web.site import Site

HERE = Path(__file__).parent
_TEMPLATES = Jinja2Templates(HERE / "templates")


def template_of(name: str) -> Template:
    """Return a template, for a page that nobody requests."""
    return _TEMPLATES.env.get_template(name)


@dataclass(slots=True)
class PageContext:
    """The shared state of all pages of one server."""

    site: Site
    """It is replaced when the configuration is read again."""
    sessions: Sessions
    attempts: Attempts
    shelf: Shelf = field(default_factory=Shelf)

    def page(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **values: object
    ) -> Response:
        """Return a page; every form on it gets the visitor's token. A `plain` page has no form, and sets no cookie."""
        token = "" if values.get("plain") else self.sessions.token(request)
        always = {"visitor": visitor, "token": token, "dataset": self.site.policy.dataset, "play": self.site.play}
        return _TEMPLATES.TemplateResponse(request, template, {**always, **values}, status_code=status)

    async def form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form whose token was made for this visitor.

        Raises:
            HTTPException: 403, the token is missing or somebody else's.
        """
        sent: FormData = await request.form(max_files=0, max_fields=20)
        fields = {name: value for name, value in sent.items() if isinstance(value, str)}
        if not self.sessions.genuine(request, fields.get("token", "")):
            raise HTTPException(403, "this form is too old; load the page again")
        return fields
