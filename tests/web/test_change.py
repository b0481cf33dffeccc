"""The configuration read again while visitors are logged in."""

import asyncio
import os
import time
from dataclasses import replace

from starlette.testclient import TestClient

from dpsql.gateway.readiness import ReadyState
from dpsql.web.app import make_app
from dpsql.web.site import Site
from tests.web.browsing import Browser
from tests.web.conftest import POLICY, USERS, Server


def test_visitors_stay_unless_they_are_no_users(server: Server) -> None:
    """They have the role that they have now; who is no user any more is logged out, and the connection closed."""
    site = Site(POLICY, USERS, server.connect, server, os.urandom, time.monotonic, ReadyState)
    app, context = make_app(site)
    browsers = [Browser(TestClient(app, follow_redirects=False)) for _ in range(2)]
    for browser, user in zip(browsers, ("olga", "ana"), strict=True):
        assert browser.log_in(user, f"pw-{user}").status_code == 303
    context.site = replace(site, roles={"olga": "analyst"})
    asyncio.run(context.sessions.change(context.site))
    assert [browser.client.get("/budget").status_code for browser in browsers] == [200, 303]
    (visitor,) = context.sessions._visitors.values()
    assert (visitor.role.name, server.open) == ("analyst", 1)


def test_a_visit_ends_with_its_password(server: Server) -> None:
    """As SQL sessions do: who has taken a password over is out when there is another one."""
    verifiers = {user: f"of {user}" for user in USERS}
    site = Site(POLICY, USERS, server.connect, server, os.urandom, time.monotonic, ReadyState, verifiers=verifiers)
    app, context = make_app(site)
    browsers = [Browser(TestClient(app, follow_redirects=False)) for _ in range(2)]
    for browser, user in zip(browsers, ("olga", "ana"), strict=True):
        assert browser.log_in(user, f"pw-{user}").status_code == 303
    context.site = replace(site, verifiers={**verifiers, "olga": "another"})
    asyncio.run(context.sessions.change(context.site))
    assert [browser.client.get("/budget").status_code for browser in browsers] == [303, 200]
    assert server.open == 1
