"""The rooms and their arrows: who may import whom, and who may touch the world."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import pytest

from tests.support.sources import PACKAGE, files, trees

PICTURE = (PACKAGE.parent / "docs" / "pictures" / "house.svg").read_text(encoding="utf-8")
DEVELOPMENT = (PACKAGE.parent / "docs" / "development.md").read_text(encoding="utf-8")
_NOT_DRAWN = {"load", "postgres", "sql", "sqlite", "static", "templates"}
"""Folders that are no rooms: parts of one, or files that are served."""

ORDER = (
    frozenset({"__main__"}),
    frozenset({"cli"}),
    frozenset({"canaries", "demo"}),
    frozenset({"dpsql"}),
    frozenset({"local"}),
    frozenset({"frames", "local_server", "noising"}),
    frozenset({"server", "supervisor"}),
    frozenset({"side_services"}),
    frozenset({"assembly"}),
    frozenset({"agents", "metrics", "web"}),
    frozenset({"plots"}),
    frozenset({"wire"}),
    frozenset({"gateway"}),
    frozenset({"standing"}),
    frozenset({"trial"}),
    frozenset({"open_ledger", "secret", "system_limits"}),
    frozenset({"engines", "shadow"}),
    frozenset({"privacy"}),
    frozenset({"trail"}),
    frozenset({"accounting", "rewrite"}),
    frozenset({"epsilon", "lexer"}),
    frozenset({"control", "interrupt", "policy"}),
    frozenset(
        {
            "bounded_rows",
            "clock",
            "errors",
            "frozen",
            "hang_up",
            "libpq",
            "private_files",
            "question",
            "rate_limited_log",
            "byte_limited_cache",
        }
    ),
)
"""From the top down: a room imports itself and what is below it, and none beside it."""

INSIDE: Mapping[str, tuple[frozenset[str], ...]] = {
    "cli": (frozenset({"main"}), frozenset({"commands"}), frozenset({"support"})),
    "wire": (
        frozenset({"server"}),
        frozenset({"intercept"}),
        frozenset({"backend"}),
        frozenset({"protocol"}),
    ),
    "privacy": (
        frozenset({"reuse"}),
        frozenset({"release"}),
        frozenset({"accuracy"}),
        frozenset({"measurement"}),
        frozenset({"features"}),
        frozenset({"mechanisms"}),
    ),
    "gateway": (
        frozenset({"gateway"}),
        frozenset({"standing_reading"}),
        frozenset({"planned_questions", "run_through", "standing"}),
        frozenset({"explaining", "rehearsal", "reuse"}),
        frozenset({"inner_answers", "measuring"}),
        frozenset({"request"}),
        frozenset({"catalogue", "pricing"}),
        frozenset({"plans"}),
        frozenset({"dependencies", "readiness", "session_settings"}),
    ),
    "shadow": (
        frozenset({"questions"}),
        frozenset({"watch"}),
        frozenset({"contents"}),
        frozenset({"server", "splice"}),
    ),
    "epsilon": (
        frozenset({"advising"}),
        frozenset({"risks"}),
        frozenset({"noise"}),
        frozenset({"databases"}),
        frozenset({"numbers"}),
    ),
    "rewrite.syntax": (
        frozenset({"whole"}),
        frozenset({"forms"}),
        frozenset({"named"}),
        frozenset({"read"}),
    ),
    "rewrite.translate": (
        frozenset({"rows"}),
        frozenset({"values"}),
        frozenset({"public"}),
    ),
    "rewrite": (
        frozenset({"emit", "translate"}),
        frozenset({"bind"}),
        frozenset({"analysis", "syntax"}),
        frozenset({"functions"}),
        frozenset({"dialects"}),
        frozenset({"ir"}),
    ),
    "engines": (
        frozenset({"open"}),
        frozenset({"snapshot"}),
        frozenset({"connect"}),
        frozenset({"databases"}),
        frozenset({"apart", "duckdb", "owner", "postgres", "source", "spark"}),
        frozenset({"tables"}),
        frozenset({"base", "watch"}),
    ),
}
"""The same for the rooms within a room; what holds nothing but a docstring is in none."""

ALLOWED: Mapping[str, Mapping[str, str]] = {
    "secrets": {
        "wire.protocol.scram": "salts and nonces of the log-in",
        "wire.server.registry": "the keys by which a session is cancelled",
        "secret": "what makes the salts of unknown names",
        "demo.setting": "the passwords of the demo's users",
        "cli.commands.user": "passwords that it makes up",
        "web.sessions": "the keys of those who are logged in",
        "canaries.served_people": "the password of a connection to a server of our own",
        "local": "the password of a connection to a server of our own",
        "shadow.server.cluster": "the password of the shadow's roles, which only dpsql knows",
    },
    "os.urandom": {
        "privacy.mechanisms.entropy": "the bytes that all noise is made of",
        "server": "hands the noise its bytes",
        "noising": "hands the noise its bytes, for values that the caller holds",
        "plots.gallery": "hands the noise its bytes, for pictures of synthetic records",
        "wire.protocol.scram": "salts and nonces of the log-in",
    },
    "ruamel": {"policy.load.document": "the only reader of YAML"},
    "random": {
        "canaries.auditing": "which of two servers over synthetic people is asked",
        "gateway.run_through": "noise for sums of synthetic people",
        "trial.cells": "synthetic records, the same ones every time",
        "trial.records": "synthetic records, the same ones every time",
    },
    "numpy.random": {
        "demo.trips": "synthetic trips, the same ones every time",
        "plots.registry": "synthetic patients, the same ones every time",
        "plots.samples": "made-up values, the same ones every time",
    },
    "socket": {
        "wire.server.acceptor": "the only sockets that listen",
        "hang_up": "ends connections that nobody answers on",
        "control": "takes commands of the operator's, from processes of this machine; tells systemd, by a datagram",
        "wire.server.directory": "asks the directory that knows passwords",
    },
    "socketserver": {},
    "asyncio.start_server": {"wire.server.listener": "the only sockets"},
    "asyncio.open_connection": {
        "wire.server.listener": "the only sockets",
        "wire.server.directory": "asks the directory that knows passwords",
    },
    "asyncio.start_unix_server": {"control": "takes commands of the operator's"},
    "asyncio.open_unix_connection": {"wire.server.listener": "the only sockets"},
}
"""What only named files may use, and why they may."""


def _imported(tree: ast.Module) -> Iterator[str]:
    """Give the full names that a file imports, also inside functions; `from a import b` gives `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _inside(full: str) -> str | None:
    """Return the file of ours that a full name comes from; None for other people's."""
    if full.split(".", maxsplit=1)[0] != "dpsql":
        return None
    name = full.removeprefix("dpsql").removeprefix(".")
    while name and name not in files():
        name = name.rpartition(".")[0]
    return name or "dpsql"


@cache
def _arrows() -> Mapping[str, set[str]]:
    """Return what every file imports of ours."""
    return {
        name: {target for full in _imported(tree) if (target := _inside(full))} - {name}
        for name, tree in trees().items()
    }


def _room(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def _inner(module: str, room: str) -> str:
    """Return the room within a room that a module is in, or its own name; nothing for one that is elsewhere."""
    return module.removeprefix(f"{room}.").split(".")[0] if module.startswith(f"{room}.") else ""


def _level(room: str, order: tuple[frozenset[str], ...]) -> int:
    return next(level for level, rooms in enumerate(order) if room in rooms)


def _cycle(arrows: Mapping[str, set[str]]) -> list[str]:
    """Return a cycle; empty if there is none."""
    done: set[str] = set()

    def walk(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done:
            return []
        for target in sorted(arrows.get(name, ())):
            around = walk(target, [*trail, name])
            if around:
                return around
        done.add(name)
        return []

    return next((circle for name in sorted(arrows) if (circle := walk(name, []))), [])


def test_every_file_is_in_a_room() -> None:
    """A new room has to be placed in the order, also one within a room."""
    rooms = {_room(module) for module in files()}
    inner = {(room, _inner(module, room)) for module in files() for room in INSIDE if _inner(module, room)}
    assert rooms == frozenset().union(*ORDER)
    assert inner == {(room, name) for room, order in INSIDE.items() for name in frozenset().union(*order)}


def test_the_picture_shows_the_rooms() -> None:
    """docs/development.md shows every room that is a folder, and those within; its table names those within these."""
    rooms = {name for name in files() if files()[name].name == "__init__.py" and name != "dpsql"}
    folders = {name for name in rooms if name.count(".") < 2}
    drawn = set(re.findall(r"[a-z_]+", " ".join(re.findall(r'class="(?:name|small)"[^>]*>([^<]+)</text>', PICTURE))))
    assert {part for name in folders for part in name.split(".")} - _NOT_DRAWN <= drawn
    named = set(re.findall(r"`(\w+)`", DEVELOPMENT))
    assert {name.rpartition(".")[2] for name in rooms - folders} - _NOT_DRAWN <= named


def test_files_form_no_cycle() -> None:
    """No file imports itself through others."""
    assert _cycle(_arrows()) == []


def test_a_cycle_would_be_found() -> None:
    """The search sees cycles, also those that it does not start in."""
    assert _cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]
    assert _cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_arrows_point_down() -> None:
    """A file imports from its own room or from a lower one."""
    wrong = [
        f"{name} imports {target}"
        for name, targets in _arrows().items()
        for target in sorted(targets)
        if _room(name) != _room(target) and _level(_room(target), ORDER) <= _level(_room(name), ORDER)
    ]
    assert wrong == []


@pytest.mark.parametrize("room", INSIDE)
def test_arrows_within_a_room_point_down(room: str) -> None:
    """The rooms within a room have an order too."""
    order = INSIDE[room]
    wrong = [
        f"{name} imports {target}"
        for name, targets in _arrows().items()
        for target in sorted(targets)
        if (source := _inner(name, room))
        and (inner_room := _inner(target, room))
        and source != inner_room
        and _level(inner_room, order) <= _level(source, order)
    ]
    assert wrong == []


@dataclass(frozen=True, slots=True)
class _Used:
    """The full names of what a file imports, and of the attributes that it reaches."""

    imported: frozenset[str]
    reached: frozenset[str]

    @classmethod
    def by(cls, tree: ast.Module) -> "_Used":
        """Read a file, which takes long enough to do it once."""
        aliases = _aliases(tree)
        attributes = filter(None, map(_dotted, ast.walk(tree)))
        reached = frozenset(".".join([aliases.get(head, head), *rest]) for head, *rest in attributes)
        return cls(frozenset(_imported(tree)), reached)

    def includes(self, thing: str) -> bool:
        """Return whether a thing is imported, or reached as an attribute of a module."""
        return thing in self.reached or any(f"{full}.".startswith(f"{thing}.") for full in self.imported)


def _dotted(node: ast.AST) -> list[str]:
    """Return the names of which an attribute of a name consists; none of anything else."""
    rest: list[str] = []
    while isinstance(node, ast.Attribute):
        rest.insert(0, node.attr)
        node = node.value
    return [node.id, *rest] if rest and isinstance(node, ast.Name) else []


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Return what imported names stand for in a file: `np` for `numpy`."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            aliases |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return aliases


@pytest.fixture(scope="module")
def used() -> Mapping[str, _Used]:
    """Give what every file uses."""
    return {name: _Used.by(tree) for name, tree in trees().items()}


@pytest.mark.parametrize("thing", ALLOWED)
def test_only_named_files_touch_the_world(thing: str, used: Mapping[str, _Used]) -> None:
    """Randomness, YAML and sockets are each in the files that are there for it."""
    users = [name for name, uses in used.items() if uses.includes(thing)]
    assert sorted(set(users) - set(ALLOWED[thing])) == []


@pytest.mark.parametrize(
    "text",
    ["import os\nos.urandom(1)", "from os import urandom", "import os as o\n\ndef f():\n    return o.urandom"],
)
def test_a_use_would_be_found(text: str) -> None:
    """Neither form of import hides one."""
    assert _Used.by(ast.parse(text)).includes("os.urandom")
    assert not _Used.by(ast.parse("import os\nos.getpid()")).includes("os.urandom")
