"""What a browser does between a page and the next: it keeps cookies and sends the page's token along."""

import re
from dataclasses import dataclass, field

import httpx2 as httpx


@dataclass(slots=True)
class Browser:
    """An HTTP client that remembers every response."""

    client: httpx.Client
    seen: list[httpx.Response] = field(default_factory=list)
    token: str = ""

    def get(self, path: str, **fields: str) -> httpx.Response:
        """Load a page, or data."""
        return self._noted(self.client.get(path, params=fields))

    def post(self, path: str, **fields: str) -> httpx.Response:
        """Send a form with the token of the last page, unless another is given."""
        return self._noted(self.client.post(path, data={"token": self.token, **fields}))

    def log_in(self, user: str, password: str) -> httpx.Response:
        """Load the form, send it, and load the first page."""
        self.get("/login")
        reply = self.post("/login", user=user, password=password)
        if reply.status_code == 303:
            self.get("/ask")
        return reply

    def carry(self, cookie: str) -> None:
        """Hold just this cookie."""
        self.client.cookies.clear()
        self.client.cookies.set("dpsql", cookie)

    def _noted(self, reply: httpx.Response) -> httpx.Response:
        self.seen.append(reply)
        match = re.search(r'name="token" (?:content|value)="([^"]+)"', reply.text)
        self.token = match[1] if match else self.token
        return reply
