"""The page that the comparison writes: what is said of whom."""

from benchmarks.peers.measured import DUCKDB, OURS, POSTGRES, SNAPSHOT, Cell, Part, pooled
from benchmarks.peers.page import Found, page
from benchmarks.peers.questions import Question

_ASKED = tuple(Question(f"q0{number}", "count", "passenger", "SELECT …") for number in (1, 2, 3, 4))
_SURE = [0.1 + 0.0001 * index for index in range(40)]


def _part(engine: str) -> Part:
    cells = {(question.name, OURS): Cell({"n": _SURE}, 0.1, 40) for question in _ASKED}
    cells |= {(question.name, SNAPSHOT): Cell({"n": _SURE}, 0.02, 40) for question in _ASKED}
    cells["q01", "Peer"] = Cell({"n": [error / 2 for error in _SURE]}, 0.05, 40)
    cells["q02", "Peer"] = Cell({"n": [error * 3 for error in _SURE]}, 0.5, 40)
    cells["q03", "Peer"] = Cell({}, refused="Panic: not | yet")
    cells["q04", "Peer"] = Cell({"n": [0.0] * 40}, 0.01, 40, wrong="n is 200% off")
    columns = {question.name: ["n"] for question in _ASKED}
    return Part(1000, engine, {question.name: 0.01 for question in _ASKED}, columns, cells, (0.5, 1.5))


_FOUND = Found(_ASKED, [_part(POSTGRES), _part(DUCKDB)], {OURS: "1", SNAPSHOT: "1", "Peer": "2"})
_PAGE = page(_FOUND)


def test_a_peer_that_is_more_exact_is_said() -> None:
    """In bold, and in a list of its own."""
    assert "| q01 count | 10 | 10.2 % | 100 | 20 | **5.1 %** | 50 |" in _PAGE
    assert "- 1,000 trips, PostgreSQL: Peer is more exact in q01 n: 0.50 of dpsql's error (" in _PAGE


def test_a_peer_that_is_faster_is_said() -> None:
    """With the part of our time, on each engine, and where records were copied before."""
    assert "- 1,000 trips, DuckDB: Peer is faster in (parts of dpsql's time) q01 (0.50)." in _PAGE
    assert "Peer is faster than dpsql with a snapshot" not in _PAGE


def test_refused_and_wrong_answers_are_named_with_their_reason() -> None:
    """Once for all parts."""
    assert _PAGE.count("- Peer q03 count: refused: `Panic: not | yet`\n") == 1
    assert _PAGE.count("- Peer q04 count: wrong: n is 200% off\n") == 1


def test_wrong_answers_are_compared_with_nothing() -> None:
    """However exact and fast they are."""
    assert (
        "| Peer 2, 1,000 trips, PostgreSQL | 2 | 1.8 times | 1 of 2 | 2.8 times | 1 of 2 | 13.8 times | 0 of 2 |"
        in _PAGE
    )


def test_errors_of_all_engines_are_taken_together() -> None:
    """Noise knows neither the engine nor a snapshot, but times do."""
    first, second = pooled([_part(POSTGRES), _part(DUCKDB)])
    assert len(first.cells["q01", OURS].errors["n"]) == len(second.cells["q01", SNAPSHOT].errors["n"]) == 160
    assert len(first.cells["q01", "Peer"].errors["n"]) == 80
    assert first.cells["q01", OURS].runs == 40
