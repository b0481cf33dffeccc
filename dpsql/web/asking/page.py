"""The page Ask and what its script asks for.

Every call but one carries the token of the page: so a page that one visitor opened shows nothing of another's, who logs in
beside it.
"""

import asyncio
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dpsql.web.asking.answered import answer_to
from dpsql.web.asking.history import budget_of, history_of
from dpsql.web.asking.planned import plan_of, refusal
from dpsql.web.asking.tables import tables_of
from dpsql.web.asking.typed import settings_of, typed_statement
from dpsql.web.inputs import BadField
from dpsql.web.page_context import PageContext
from dpsql.web.sessions import Visitor
from dpsql.web.site import Refused


async def ask_page(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the page; what it has of tables and budgets its script asks for."""
    host, port = visitor.client.place
    return context.page(request, "ask.html", visitor, host=host, port=port, cap=visitor.role.per_query.epsilon)


async def who(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return who is logged in, and their token, to a page whose own is too old."""
    return JSONResponse(
        {"user": visitor.user, "role": visitor.role.name, "token": context.sessions.token(request)},
    )


async def tables(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what may be asked of: tables, columns, values, functions; three questions to begin with; the budget."""
    await context.form(request)
    return JSONResponse({**await tables_of(visitor.client), "budget": await budget_of(visitor.client)})


async def plan(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the price of what is being written; nothing while another is explained, so that no page makes many wait."""
    given = await context.form(request)
    try:
        statement, settings = _typed(given, visitor)
    except BadField as error:
        return JSONResponse({"state": "refused", "message": str(error), "field": error.field})
    if visitor.explaining:
        return JSONResponse({"state": "busy"})
    visitor.explaining = True
    try:
        return JSONResponse(await plan_of(statement, given["statement"], settings, visitor.client))
    finally:
        visitor.explaining = False


async def answer(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Ask, and return the answer with what it cost; a refusal with its place."""
    given = await context.form(request)
    statement, settings = _typed(given, visitor)
    try:
        return JSONResponse(await answer_to(statement, settings, context.site, visitor))
    except Refused as refused:
        told = await asyncio.to_thread(refusal, refused, statement, given["statement"])
        return JSONResponse({"state": "refused", **told}, 409)


async def stop(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Cancel the answer that is on its way; what was charged stays charged."""
    await context.form(request)
    await visitor.client.stop()
    return JSONResponse({})


async def history(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return what the role was told before, and the budget."""
    await context.form(request)
    return JSONResponse(await history_of(visitor.client))


async def share(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the name of a statement, by which others of the role can look it up."""
    given = await context.form(request)
    return JSONResponse({"name": context.shelf.put(visitor.role, typed_statement(given))})


async def shared(request: Request, context: PageContext, visitor: Visitor) -> Response:
    """Return the statement of a name, to whoever has the role; it is not asked."""
    given = await context.form(request)
    statement = await context.shelf.find(visitor.role, given.get("name", ""), visitor.client)
    if statement is None:
        return JSONResponse(
            {
                "error": "this link has no statement for your role",
                "hint": "It may be of another role, or was made before the server started and never asked.",
                "field": None,
            },
            404,
        )
    return JSONResponse({"statement": statement})


def _typed(given: Mapping[str, str], visitor: Visitor) -> tuple[str, Mapping[str, str]]:
    return typed_statement(given), settings_of(given, visitor.role)
