"""Trees are walked whole and in order, and a copy has nothing in common with its original but what never changes."""

from functools import cache

from sqlglot import exp

from dpsql.rewrite.syntax.read.dialect import parse_query, render
from dpsql.rewrite.syntax.read.trees import copy_tree, every, holds, nodes
from tests.support.golden import load


@cache
def _trees() -> list[exp.Query]:
    """Return one in five of the golden statements."""
    texts = sorted({golden.sql for golden in load() if golden.cost})[::5]
    return [tree for tree in map(parse_query, texts) if tree is not None]


def _tree(text: str) -> exp.Query:
    tree = parse_query(text)
    assert tree is not None
    return tree


def test_a_copy_is_the_same_and_apart() -> None:
    """In text and parents; no node is in both."""
    for tree in _trees():
        copy = copy_tree(tree, {})
        assert all(child.parent is node for node in nodes(copy) for child in node.iter_expressions())
        assert render(copy) == render(tree)
        assert [(type(n), n.arg_key, n.index) for n in nodes(copy)] == [
            (type(n), n.arg_key, n.index) for n in nodes(tree)
        ]
        assert not {id(node) for node in nodes(copy)} & {id(node) for node in nodes(tree)}


def test_all_nodes_are_found() -> None:
    """Each once, and what is outside first."""
    assert len(_trees()) > 80
    for tree in _trees():
        ids = [id(node) for node in nodes(tree)]
        assert ids == [id(node) for node in tree.walk(bfs=False)]
        assert len(set(ids)) == len(ids)


def test_nodes_of_one_kind_come_in_the_order_of_the_text() -> None:
    """Those in lists, too."""
    tree = _tree("SELECT a, (SELECT b FROM t WHERE c > 1) FROM u WHERE d IN (1, e)")
    assert [column.name for column in every(tree, exp.Column)] == ["a", "b", "c", "d", "e"]


def test_a_tree_holds_what_can_be_found_in_it() -> None:
    """Of whatever kind it is, and no other."""
    for tree in _trees():
        for kind in (exp.Column, exp.Star, exp.Query, exp.Window, exp.Literal, exp.Parameter, exp.Filter):
            assert holds(tree, kind) == (tree.find(kind) is not None)


def test_what_is_below_may_be_left_out() -> None:
    """Of queries in queries only the outer ones."""
    tree = _tree("SELECT 1 FROM t WHERE a IN (SELECT b FROM u WHERE c = (SELECT 2)) AND d = (SELECT 3)")
    selects = every(tree.args["where"], exp.Select, below=False)
    assert [render(select) for select in selects] == ["SELECT b FROM u WHERE c = (SELECT 2)", "SELECT 3"]


def test_a_copy_changes_alone() -> None:
    """What is replaced in it stays in the original."""
    tree = _tree("SELECT a FROM t")
    copy = copy_tree(tree, {})
    every(copy, exp.Column)[0].replace(exp.column("b"))
    assert (render(tree), render(copy)) == ("SELECT a FROM t", "SELECT b FROM t")


def test_writing_a_part_changes_no_tree() -> None:
    """Parents are followed afterwards: a branch that is written by itself stays in its CASE."""
    own = ["SELECT CASE WHEN a THEN 1 ELSE 2 END FROM t WHERE position('x' IN b) > 1 OR c"]
    for tree in [*_trees(), *map(_tree, own)]:
        before = [(node, node.parent) for node in nodes(tree)]
        for node, _ in before:
            render(node)
        assert all(node.parent is parent for node, parent in before), render(tree)
