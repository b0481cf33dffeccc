"""Parquet and CSV files as tables."""

import array
import datetime as dt
import gzip
import itertools
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import NoEngine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.errors import ConfigError, EngineFailed, EngineNotReady
from dpsql.policy.config import CsvWords, DecimalMark, Resources
from dpsql.policy.model import SqlType
from dpsql.question import Cancellation
from tests.engines.asking import asked

TYPES: Mapping[str, SqlType] = {"a": SqlType.INTEGER, "zip": SqlType.TEXT}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make two Parquet files, a CSV file, and a secret beside them."""
    with duckdb.connect() as connection:
        for i in (1, 2):
            connection.execute(f"COPY (SELECT {i} AS a, '0{i}' AS zip) TO '{tmp_path}/t{i}.parquet'")
        connection.execute(f"COPY (SELECT 1 AS a, '01' AS zip, 3 AS extra) TO '{tmp_path}/it''s.csv'")
        connection.execute(f"COPY (SELECT 42 AS a) TO '{tmp_path}/secret.parquet'")
    return tmp_path


def _ask(engine: DuckDb, sql: str, charge: Charge) -> list[tuple[object, ...]]:
    return [tuple(row) for row in asked(engine, sql, charge)]


def test_a_pattern_is_one_table(folder: Path, charge: Charge) -> None:
    """All files that it names are read, with the resources that were given."""
    engine = DuckDb({"t": TableFile(folder / "t*.parquet", TYPES)}, Resources("1GB", 1))
    assert _ask(engine, "SELECT a, zip FROM {t} ORDER BY a", charge) == [(1, "01"), (2, "02")]
    assert _ask(engine, "SELECT current_setting('memory_limit'), current_setting('threads')", charge) == [
        ("953.6 MiB", 1)
    ]
    assert engine.columns("t") == {"a": "INTEGER", "zip": "VARCHAR"}
    engine.close()


def test_nothing_is_drawn_on_standard_output() -> None:
    """DuckDB draws how far it is of whatever takes two seconds, wherever that is read by programs, too."""
    code = (
        "from dpsql.engines.duckdb.opening import of_tables; from dpsql.policy.config import Resources; import pathlib;"
        "own = of_tables({}, (), pathlib.Path('spill'), Resources(None, None));"
        "print(own.execute(\"SELECT current_setting('enable_progress_bar')\").fetchall())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stdout == "[(False,)]\n"


@pytest.mark.parametrize(("memory", "bits"), [("20MB", 20), ("1GB", 20), ("5GB", 21), ("900GB", 22)])
def test_units_are_counted_in_arrays_where_there_is_memory(
    folder: Path, charge: Charge, memory: str, bits: int
) -> None:
    """Of 64 bytes for a unit, a sixteenth of the memory with two threads."""
    engine = DuckDb({"t": TableFile(folder / "t*.parquet", TYPES)}, Resources(memory, 2))
    assert _ask(engine, "SELECT current_setting('perfect_ht_threshold')", charge) == [(bits,)]
    engine.close()


def test_a_directory_is_one_table(folder: Path, charge: Charge) -> None:
    """Every Parquet file below it belongs to it."""
    (folder / "deep").mkdir()
    (folder / "t1.parquet").rename(folder / "deep" / "t1.parquet")
    (folder / "secret.parquet").unlink()
    engine = DuckDb({"t": TableFile(folder, TYPES)})
    assert _ask(engine, "SELECT CAST(count(*) AS VARCHAR) FROM {t}", charge) == [("2",)]
    engine.close()


def test_csv_has_the_declared_types(folder: Path) -> None:
    """Nothing is guessed from the records: a zip code stays a text; other columns are left out."""
    engine = DuckDb({"c": TableFile(folder / "it's.csv", TYPES)})
    assert engine.columns("c") == {"a": "INTEGER", "zip": "VARCHAR"}
    assert [list(row) for row in engine.public_rows("c", ["a", "zip"], 5)] == [[1, "01"]]
    engine.close()


def test_a_value_that_is_not_of_its_type_is_told_at_the_start(folder: Path) -> None:
    """So that no statement can fail over it."""
    (folder / "bad.csv").write_text("a,zip\nx,01\n")
    with pytest.raises(ConfigError) as caught:
        DuckDb({"c": TableFile(folder / "bad.csv", TYPES)})
    assert caught.value.message.endswith('bad.csv: column "a" has 1 values that are not integer')


def test_all_columns_with_such_values_are_told_at_once(folder: Path) -> None:
    """Whoever mends a file mends it once."""
    (folder / "bad.csv").write_text("a,zip,day\nx,01,2024-01-01\n2,01,yesterday\ny,01,\n")
    with pytest.raises(ConfigError) as caught:
        DuckDb({"c": TableFile(folder / "bad.csv", {**TYPES, "day": SqlType.DATE})})
    assert caught.value.message.endswith(
        'bad.csv: column "a" has 2 values that are not integer; column "day" has 1 values that are not date'
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,zip\n1,01\n2,02,Ada\n", ", line 3: the line has 3 values, and the first one names 2 columns"),
        ("a,zip,name\n1,01\n2,02,Ada\n", ", line 2: the line has 2 values, and the first one names 3 columns"),
        ("a,zip\n1,01\n2,Köln\n", ', column "zip": the file is no UTF-8; iconv -f'),
        ("a,Straße\n1,x\n", ", line 1: the file is no UTF-8"),
        ("a,zip\n2,\x80\n", "the file is no UTF-8; iconv -f windows-1252"),
        ('a,zip\n1,"01\n2,02\n', "a quotation mark is not closed"),
        ("a,zip,a\n1,01,2\n", 'line 1: column "a" is named twice'),
        ("", " is empty; its first line has to name the columns"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_told(folder: Path, text: str, told: str) -> None:
    """The cause, the line and the column; a longer row is no reason to take a record for the first line."""
    (folder / "bad.csv").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError) as caught:
        DuckDb({"c": TableFile(folder / "bad.csv", TYPES)})
    assert told in caught.value.message
    assert "bad.csv" in caught.value.message


def test_files_of_a_pattern_name_the_same_columns(folder: Path) -> None:
    """Columns are taken by their place: files that order them otherwise would be read wrongly."""
    (folder / "p1.csv").write_text("a,zip\n1,01\n")
    (folder / "p2.csv").write_text("zip,a\n02,2\n")
    with pytest.raises(ConfigError, match=r"p2.csv: the first line, which names the columns, is another one than in"):
        DuckDb({"c": TableFile(folder / "p*.csv", TYPES)})


def test_a_text_may_have_lines_and_marks(folder: Path) -> None:
    """As spreadsheets write them, with a mark of UTF-8 before the first name."""
    (folder / "q.csv").write_bytes('\ufeffa;zip\r\n1;"two\nlines; and ""marks"""\r\n'.encode())
    engine = DuckDb({"c": TableFile(folder / "q.csv", TYPES)})
    assert [list(row) for row in engine.public_rows("c", ["a", "zip"], 5)] == [[1, 'two\nlines; and "marks"']]
    engine.close()


@pytest.mark.parametrize(
    "text",
    ["a,zip\n1,Ada Lovelace\nx,Ada Lovelace\n", "a,zip\n" + "1,02\n" * 30_000 + "1,Ada Lovelace,3,4\n", "a\n\xff\n"],
)
def test_no_line_of_a_file_is_told(folder: Path, text: str) -> None:
    """What can't be read is somebody's record: errors go to terminals and logs."""
    (folder / "bad.csv").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError) as caught:
        DuckDb({"c": TableFile(folder / "bad.csv", TYPES)})
    assert "Ada" not in f"{caught.value.message}{caught.value.hint}"


def test_words_for_null_and_decimal_commas(folder: Path) -> None:
    """A quoted word is one, too; what is no word of the list is a value."""
    (folder / "de.csv").write_text('a;zip;cost\n1;NA;1,5\nNA;"n/a";-0,25\n2;NAN;1e3\n;;"n/a"\n')
    types = {**TYPES, "cost": SqlType.DOUBLE}
    engine = DuckDb({"c": TableFile(folder / "de.csv", types, CsvWords(("NA", "n/a"), DecimalMark.COMMA))})
    assert sorted(map(list, engine.public_rows("c", ["a", "zip", "cost"], 5)), key=repr) == [
        [1, None, 1.5],
        [2, "NAN", 1000.0],
        [None, None, -0.25],
        [None, None, None],
    ]
    engine.close()


def test_a_quoted_nothing_is_an_empty_text(folder: Path) -> None:
    """As COPY writes the two apart; of a number it is no value, as others write that."""
    (folder / "q.csv").write_text('a,zip\n1,""\n2,\n"",x\n')
    engine = DuckDb({"c": TableFile(folder / "q.csv", TYPES)})
    assert [list(row) for row in engine.public_rows("c", ["a", "zip"], 5)] == [[1, ""], [2, None], [None, "x"]]
    engine.close()


def test_a_fraction_is_no_whole_number(folder: Path) -> None:
    """It is told, and not rounded; 3.0 is whole, as numbers are written of a column with gaps."""
    (folder / "q.csv").write_text("a\n3.0\n-4.\n1e+05\n +7 \n")
    engine = DuckDb({"c": TableFile(folder / "q.csv", TYPES)})
    assert [list(row) for row in engine.public_rows("c", ["a"], 5)] == [[3], [-4], [100_000], [7]]
    engine.close()
    (folder / "q.csv").write_text('a\n3.0\n3.70\n-0.5\n15e-1\n1.0e-1\n"3,0"\n0x10\n')
    with pytest.raises(ConfigError, match='column "a" has 6 values that are not integer'):
        DuckDb({"c": TableFile(folder / "q.csv", TYPES)})
    (folder / "q.csv").write_text('a\n"3,0"\n1.000\n1.0\n')
    with pytest.raises(ConfigError, match='column "a" has 2 values that are not integer'):
        DuckDb({"c": TableFile(folder / "q.csv", TYPES, CsvWords(decimal=DecimalMark.COMMA))})


@pytest.mark.parametrize("city", ["Gießen", "Évry", "Łódź", "北京", "“quoted” – €5"])
def test_any_character_of_utf8_is_read(city: str, folder: Path) -> None:
    """Also those of which Latin-1 has no byte: in the first line, below it, and in a compressed file."""
    (folder / "u.csv").write_text(f"a,zip,{city}\n1,{city},x\n", encoding="utf-8")
    (folder / "u.csv.gz").write_bytes(gzip.compress((folder / "u.csv").read_bytes()))
    for name in ("u.csv", "u.csv.gz"):
        engine = DuckDb({"c": TableFile(folder / name, {**TYPES, city: SqlType.TEXT})})
        assert [list(row) for row in engine.public_rows("c", ["a", "zip", city], 5)] == [[1, city, "x"]]
        engine.close()


def test_a_csv_has_labels_of_an_enum(folder: Path) -> None:
    """DuckDB has no type of that name."""
    engine = DuckDb({"c": TableFile(folder / "it's.csv", {"zip": SqlType.ENUM})})
    assert [list(row) for row in engine.public_rows("c", ["zip"], 5)] == [["01"]]
    engine.close()


def test_times_of_a_csv_without_a_zone_are_in_utc(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the machine is."""
    (folder / "w.csv").write_text("at\n2024-03-01 02:00:00\n2024-03-01 02:00:00+02\n")
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        engine = DuckDb({"c": TableFile(folder / "w.csv", {"at": SqlType.TIMESTAMPTZ})})
        ((first,), (second,)) = engine.public_rows("c", ["at"], 5)
        engine.close()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [first, second] == [dt.datetime(2024, 3, 1, hour, tzinfo=dt.UTC).timestamp() * 10**6 for hour in (2, 0)]


@pytest.mark.parametrize("value", ["1.234", "1.234,5"])
def test_a_point_is_not_guessed_at_where_commas_are_decimal(folder: Path, value: str) -> None:
    """It might group thousands."""
    (folder / "de.csv").write_text(f"a;cost\n1;{value}\n")
    with pytest.raises(ConfigError, match='column "cost" has 1 values that are not double'):
        DuckDb({"c": TableFile(folder / "de.csv", {"cost": SqlType.DOUBLE}, CsvWords(decimal=DecimalMark.COMMA))})


@pytest.mark.parametrize("name", ["missing.parquet", "no*.parquet"])
def test_a_missing_file_is_told(folder: Path, name: str) -> None:
    """By its name."""
    with pytest.raises(NoEngine, match=r"there is no file .*parquet"):
        DuckDb({"t": TableFile(folder / name, TYPES)})


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("1 AS a", "3000000000 AS a", "is INTEGER in .*1.parquet, and BIGINT in .*2.parquet"),
        ("7::DECIMAL(10, 0) AS a", "7.45::DECIMAL(10, 2) AS a", r"is DECIMAL\(10,0\) in .*, and DECIMAL\(10,2\) in"),
        ("1 AS a", "'one' AS a", "is INTEGER in .*, and VARCHAR in"),
        ("1 AS a", "1 AS b", "is INTEGER in .*, and missing in"),
        ("1 AS b", "1 AS a", "is missing in .*, and INTEGER in"),
        ("1 AS a", "1 AS A, 2 AS b", None),
        ("2 AS b, 1 AS a", "1 AS a, 'b' AS b", None),
        ("1 AS a, {'a': 2.5} AS s", "2.7 AS a, {'a': 1} AS s", r"is INTEGER in .*, and DECIMAL\(2,1\) in"),
        ("1 AS a, {'a': 2.5, 'b': [1]} AS s", "2 AS a, {'a': 'x', 'b': ['y']} AS s", None),
    ],
)
def test_files_of_one_table_have_one_type_a_column(tmp_path: Path, first: str, second: str, told: str | None) -> None:
    """DuckDB would read the others as the first, and fail at a value that does not fit."""
    with duckdb.connect() as connection:
        for number, values in enumerate((first, second), 1):
            connection.execute(f"COPY (SELECT {values}) TO '{tmp_path}/{number}.parquet'")
    table = {"t": TableFile(tmp_path, {"a": SqlType.BIGINT})}
    if told is None:
        DuckDb(table).close()
        return
    with pytest.raises(ConfigError, match=f'table "t": "a" {told}'):
        DuckDb(table)


def test_a_file_without_a_value_in_a_column_fits(tmp_path: Path, charge: Charge) -> None:
    """As pandas writes a month in which nobody has one; the first file has to have a type."""
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": pa.nulls(2)}), tmp_path / "2.parquet")
    engine = DuckDb({"t": TableFile(tmp_path, {"a": SqlType.BIGINT})})
    assert _ask(engine, "SELECT sum(a), count(*) FROM {t}", charge) == [(3, 4)]
    engine.close()
    (tmp_path / "1.parquet").rename(tmp_path / "3.parquet")
    with pytest.raises(ConfigError, match=r'"a" is "NULL" in .*2.parquet, and BIGINT in .*3.parquet'):
        DuckDb({"t": TableFile(tmp_path, {"a": SqlType.BIGINT})})


def _arrow_texts(*values: bytes) -> pa.Array:
    """Return texts, whatever their bytes are."""
    ends = array.array("i", itertools.accumulate(map(len, values), initial=0))
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(values)))


def test_a_text_that_is_no_utf8_fails_no_statement(tmp_path: Path, charge: Charge) -> None:
    """Whose rows have it would be told by which statements fail."""
    parquet.write_table(pa.table({"zip": _arrow_texts(b"01", b"caf\xe9")}), tmp_path / "t.parquet")
    engine = DuckDb({"t": TableFile(tmp_path / "t.parquet", {"zip": SqlType.TEXT})})
    assert _ask(engine, "SELECT zip = '01', upper(zip) FROM {t}", charge) == [(True, "01"), (False, "CAF?")]
    engine.close()


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (pa.timestamp("ms"), SqlType.TIMESTAMP),
        (pa.timestamp("ms", tz="UTC"), SqlType.TIMESTAMPTZ),
        (pa.time32("ms"), SqlType.TIME),
        (pa.time64("us"), SqlType.TIME),
        (pa.time64("ns"), SqlType.TIME),
    ],
)
def test_times_that_no_statement_could_read_are_told(tmp_path: Path, type_: pa.DataType, kind: SqlType) -> None:
    """When the file is opened, without the value; a column that is not declared is nobody's."""
    whole = pa.int32() if type_ == pa.time32("ms") else pa.int64()
    for last in (2, 2 ** (whole.bit_width - 2)):
        times = pa.table({"At": pa.array([1, last], whole).cast(type_), "a": pa.array([1, 2])})
        parquet.write_table(times, tmp_path / "t.parquet")
        DuckDb({"t": TableFile(tmp_path / "t.parquet", {"a": SqlType.BIGINT})}).close()
        opened = {"t": TableFile(tmp_path / "t.parquet", {"At": kind})}
        if last == 2:
            DuckDb(opened).close()
            continue
        with pytest.raises(ConfigError, match=r'table "t": column "At" of .*t.parquet has times that can') as caught:
            DuckDb(opened)
        assert str(last) not in caught.value.message


def test_an_unknown_kind_of_file_is_told(folder: Path) -> None:
    """With the kinds that are known."""
    (folder / "t.xlsx").touch()
    with pytest.raises(ConfigError, match="neither Parquet"):
        DuckDb({"t": TableFile(folder / "t.xlsx", TYPES)})


def test_other_files_stay_out_of_reach(folder: Path, charge: Charge) -> None:
    """Not even beside the tables' own files, and no setting brings them back."""
    engine = DuckDb({"t": TableFile(folder / "t1.parquet", TYPES)})
    for sql in (
        f"SELECT a FROM read_parquet('{folder}/secret.parquet')",
        f"SELECT a FROM '{folder}/secret.parquet'",
        f"COPY t TO '{folder}/t1.parquet'",
        "SET enable_external_access = true",
        f"SET allowed_paths = ['{folder}/secret.parquet']",
        f"ATTACH '{folder}/new.duckdb'",
        "LOAD httpfs",
        "SELECT * FROM folder",
    ):
        with pytest.raises(EngineNotReady):
            _ask(engine, sql, charge)
    engine.close()


def test_a_file_that_changes_ends_the_measurements(folder: Path, charge: Charge) -> None:
    """Two scans of one statement must see the same rows."""
    engine = DuckDb({"t": TableFile(folder / "t1.parquet", TYPES)})
    assert _ask(engine, "SELECT a FROM {t}", charge) == [(1,)]
    (folder / "t2.parquet").replace(folder / "t1.parquet")
    with pytest.raises(EngineNotReady):
        _ask(engine, "SELECT a FROM {t}", charge)
    engine.close()


def test_a_file_that_changes_while_it_is_read_ends_the_measurement(folder: Path, charge: Charge) -> None:
    """Two scans of one statement could have seen different rows; what they saw is told to nobody."""
    engine = DuckDb({"t": TableFile(folder / "t1.parquet", TYPES)})
    sql = f"SELECT a FROM {engine.named('t')} WHERE a IN (SELECT a FROM {engine.named('t')})"
    with engine.ready([sql], timeout=30, cancellation=Cancellation()) as prepared:
        (folder / "t2.parquet").replace(folder / "t1.parquet")
        with pytest.raises(EngineFailed):
            prepared.run(sql, charge)
    engine.close()


def test_what_a_file_brings_along_is_never_called(tmp_path: Path, charge: Charge) -> None:
    """Macros of a DuckDB file that bear the names of functions and operators see no value; its own views may use them."""
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute('CREATE MACRO abs(x) AS 42; CREATE MACRO "+"(x, y) AS 42; CREATE TABLE t AS SELECT -1 AS a')
        connection.execute("CREATE VIEW v AS SELECT abs(a) AS a FROM t")
        assert connection.execute("SELECT abs(a), a + 1 FROM t").fetchone() == (42, 42)
    engine = DuckDb(tmp_path / "records.duckdb")
    assert _ask(engine, "SELECT abs(a), a + 1 FROM {t}", charge) == [(1, 0)]
    assert _ask(engine, "SELECT a FROM {v}", charge) == [(42,)]
    engine.close()


def test_what_was_accepted_before_a_failure_is_not_accepted_unseen(folder: Path, charge: Charge) -> None:
    """DuckDB may take nothing more: what it does not take must not be paid for."""
    engine = DuckDb({"t": TableFile(folder / "t*.parquet", TYPES)})
    statement = f"SELECT a FROM {engine.named('t')}"
    assert _ask(engine, statement, charge) == [(1,), (2,)]
    engine._connection.execute("DROP VIEW t")
    with pytest.raises(EngineFailed):
        _ask(engine, "SELECT error('it breaks') FROM range(1)", charge)
    with pytest.raises(EngineNotReady), engine.ready([statement], timeout=30, cancellation=Cancellation()):
        pytest.fail("it was accepted")
    assert engine.is_current()


def test_a_file_that_comes_is_served_after_a_reload(folder: Path, charge: Charge) -> None:
    """Until then all answers are of the files that were there: a reload sees that there is one more."""
    engine = DuckDb({"t": TableFile(folder / "t*.parquet", TYPES)})
    asked = f"SELECT count(*) FROM {engine.named('t')}"
    assert engine.is_current()
    duckdb.execute(f"COPY (SELECT 3::INTEGER AS a, 'c' AS b) TO '{folder}/t9.parquet'")
    assert _ask(engine, asked, charge) == [(2,)]
    assert not engine.is_current()
    engine.close()


@pytest.mark.parametrize("database", [False, True])
def test_what_duckdb_closes_its_database_under_runs_again(folder: Path, charge: Charge, database: bool) -> None:
    """A mistake of DuckDB's own leaves none of its statements any database: they are paid for, and run in another one."""
    if database:
        with duckdb.connect(folder / "all.duckdb") as connection:
            connection.execute(f"CREATE TABLE t AS FROM '{folder}/t*.parquet'")
    engine = DuckDb(folder / "all.duckdb" if database else {"t": TableFile(folder / "t*.parquet", TYPES)})
    asked_for = f"SELECT a FROM {engine.named('t')} ORDER BY a"
    how = "SELECT current_setting('disabled_optimizers'), current_setting('enable_external_access')"
    with engine.ready([asked_for, how], timeout=30, cancellation=Cancellation()) as prepared:
        assert "sides" not in str(prepared.rows(how))
        engine._connection.close()
        assert prepared.run(asked_for, charge) == [(1,), (2,)]
        ((optimizers, outside),) = prepared.rows(how)
        assert "build_side_probe_side" in str(optimizers)
        assert outside is False
    assert not engine.is_current()
    assert _ask(engine, "SELECT a FROM {t} ORDER BY a", charge) == [(1,), (2,)]
    assert engine.is_current()
    engine.close()


def test_what_fails_again_has_failed(folder: Path, charge: Charge) -> None:
    """It is not tried for ever."""
    engine = DuckDb({"t": TableFile(folder / "t*.parquet", TYPES)})
    broken = "SELECT error('it breaks') FROM range(1)"
    with engine.ready([broken], timeout=30, cancellation=Cancellation()) as prepared:
        engine._connection.close()
        with pytest.raises(EngineFailed):
            prepared.run(broken, charge)
    assert _ask(engine, "SELECT a FROM {t} ORDER BY a", charge) == [(1,), (2,)]
    engine.close()


def test_a_database_that_was_closed_and_has_changed_waits_for_a_reload(
    folder: Path, charge: Charge, caplog: pytest.LogCaptureFixture
) -> None:
    """Other records would be another epoch's: neither what was paid for reads them, nor what is asked next."""
    engine = DuckDb({"t": TableFile(folder / "t1.parquet", TYPES)})
    with engine.ready([], timeout=30, cancellation=Cancellation()) as prepared:
        engine._connection.close()
        (folder / "t2.parquet").replace(folder / "t1.parquet")
        with pytest.raises(EngineFailed):
            prepared.run("SELECT 1", charge)
    with pytest.raises(EngineNotReady):
        _ask(engine, "SELECT a FROM {t}", charge)
    assert "send SIGHUP" in caplog.text
    engine.close()
