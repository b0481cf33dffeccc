"""Walks over the parser's trees, and copies of them: every statement is walked and copied several times."""

from collections.abc import Iterable, Iterator, MutableMapping
from typing import TypeVar

from sqlglot import exp

_T = TypeVar("_T", bound=exp.Expr)
_PLAIN = frozenset({type(None), bool, str, int})
"""Kinds of arguments that are no nodes: most are."""
_LEAVES = frozenset({exp.Identifier, exp.Literal, exp.Null})
"""Kinds of nodes with none in them: most are."""

OF_NOBODY = "of_nobody"
"""The part of a node that is marked as what there is of a group which is not among an answer's: its line, or its 0."""


def nodes(tree: exp.Expr, outermost: type[exp.Expr] | None = None) -> Iterator[exp.Expr]:
    """Yield a tree's nodes, each before what is in it, in the order of the text; what was yielded may be changed.

    Nodes inside of nodes of the kind `outermost` are left out.
    """
    pending = [tree]
    while pending:
        node = pending.pop()
        if type(node) in _LEAVES or (outermost is not None and isinstance(node, outermost)):
            yield node
            continue
        inside: list[exp.Expr] = []
        for value in node.args.values():
            sort = type(value)
            if sort is list:
                inside += [child for child in value if isinstance(child, exp.Expr)]
            elif sort not in _PLAIN and isinstance(value, exp.Expr):
                inside.append(value)
        # Its children are known by now: the reader may change the node, and the rest of the walk stays as it was.
        yield node
        inside.reverse()
        pending += inside


def every(tree: exp.Expr, kind: type[_T], *, below: bool = True) -> list[_T]:
    """Return a tree's nodes of one kind, in the order of the text; those `below` others of it only if that is said."""
    matching: list[_T] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, kind):
            matching.append(node)
            if not below:
                continue
        if type(node) in _LEAVES:
            continue
        # Each child is put before those that were put there: the last one lies deepest, and the first is taken next.
        at = len(pending)
        for value in node.args.values():
            sort = type(value)
            if sort is list:
                for child in value:
                    if isinstance(child, exp.Expr):
                        pending.insert(at, child)
            elif sort not in _PLAIN and isinstance(value, exp.Expr):
                pending.insert(at, value)
    return matching


def take_apart(nodes_: Iterable[exp.Expr]) -> None:
    """Take apart trees that nobody reads any more: they go at once, and not when all of memory is looked through."""
    for node in nodes_:
        node.parent = None


def holds(tree: exp.Expr, *kinds: type[exp.Expr]) -> bool:
    """Return whether a node of one of the kinds is among a tree's, its root included."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, kinds):
            return True
        if type(node) in _LEAVES:
            continue
        for value in node.args.values():
            sort = type(value)
            if sort is list:
                pending += [child for child in value if isinstance(child, exp.Expr)]
            elif sort not in _PLAIN and isinstance(value, exp.Expr):
                pending.append(value)
    return False


def kinds_below(tree: exp.Expr) -> set[type[exp.Expr]]:
    """Return the kinds of all nodes in a tree; that of its root only where another one has it."""
    kinds = set[type[exp.Expr]]()
    pending = [tree]
    while pending:
        for value in pending.pop().args.values():
            sort = type(value)
            if sort is list:
                inside = [child for child in value if isinstance(child, exp.Expr)]
            elif sort not in _PLAIN and isinstance(value, exp.Expr):
                inside = [value]
            else:
                continue
            kinds.update(map(type, inside))
            pending += inside
    return kinds


def copy_tree(tree: _T, copies: MutableMapping[int, exp.Expr]) -> _T:
    """Return a copy of a tree without what the parser noted of places in the text.

    `copies` gets each node's copy by the node's `id`.
    """
    root = tree.__class__()
    pending: list[tuple[exp.Expr, exp.Expr]] = [(tree, root)]
    while pending:
        node, copy = pending.pop()
        copies[id(node)] = copy
        for key, value in node.args.items():
            sort = type(value)
            if sort not in _PLAIN and isinstance(value, exp.Expr):
                copy.args[key] = _child(value, copy, key, None, pending)
            elif sort is list:
                copy.args[key] = [
                    _child(child, copy, key, at, pending) if isinstance(child, exp.Expr) else child
                    for at, child in enumerate(value)
                ]
            else:
                copy.args[key] = value
    return root


def _child(
    node: exp.Expr, parent: exp.Expr, key: str, index: int | None, pending: list[tuple[exp.Expr, exp.Expr]]
) -> exp.Expr:
    """Return a node's copy in its place, still without what is in it."""
    copy = node.__class__()
    copy.parent, copy.arg_key, copy.index = parent, key, index
    pending.append((node, copy))
    return copy
