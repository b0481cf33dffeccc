"""Made-up statements, in every way that PostgreSQL's lexer lets one write them."""

from collections.abc import Sequence
from random import Random

BLANKS = (
    " ", "\t", "\n", "\r", "\f", "\r\n", "/**/", "/* ; */", "/* ' */", '/* " */', "/* -- */", "/* $$ */",
    "/* $a$ */", "/*/**/*/", "/* /* ; */ */", "/*/*/***/*/*/", "/*//**/*/", "-- ;\n", "-- '\n", "--/*\n",
    "-- $a$\r", "--\r", "--é\n", "/* é */", "/*\\*/", "--\\\n", "/***/", "/* * / */",
)  # fmt: skip
TEXTS = (
    "''", "';'", "'--'", "'/*'", "'*/'", "'$$'", "'\"'", "''''", "';'';'", "'\\'", "'a\\\\'", "'é;'", "'\n'", "E''",
    "E'\\''", "E';\\\\'", "e'\\';'", "E'''\\''", "E'\\x41\\101\\u00e9\\n'", "E'a\\\nb;'", "U&';'", "u&'\\0041;'",
    "U&'''\\\\'", "U&'\\+01F600'", "U&'!0041' UESCAPE '!'", "$$;$$", "$a$;$a$", "$a$$;$$ $b$ ' $a$", "$_1$;$_1$",
    "$é$;$é$", "$$'$$", "$A$ $a$ ; $A$", "N';'", "n'a'", "B'01'", "x'1F'", "X''", "'a'\n';'",
    "'a' -- '\n  ';\\'", "E'a'\n'\\';'", "U&'a'\n';'", "B'0'\n'1'", "E'\\\\'", "'a'\r\n';'", "'a'\f\n\f--x\n';'",
    "$$\\$$", "E'\\uD83D\\uDE00'",
)  # fmt: skip
NAMES = (
    "a", "_a", "a1", "a$b", "a$$", "a$b$", "é", "aé$", "Ä", '"a"', '";"', '"a""b;"', '"--"', '"/*"', "\"'\"",
    '"$$"', 'U&"\\0061;"', 'u&"!0061" UESCAPE \'!\'', '"é"', "ß;"[:1], "E", "u", "x1", "nb", "ABC", "İ", '"A\\"',
    "\u00a0", "a\u2028b", "\u3000", "e1", "B_", "U_", "n" * 70, "é" * 40,
)  # fmt: skip
NUMBERS = (
    "0", "1", "12", "1.5", ".5", "1.", "1e5", "1E-5", "1.e+1", "0x1F", "0XaB_c", "0o17", "0b101", "1_000",
    "1_0.0_1", "1_0e1_0",
)  # fmt: skip
SIGNS = (
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "<",
    ">",
    "<=",
    "<>",
    "!=",
    "- -",
    "+-",
    "*-",
    "- +",
    "+/*x*/",
    "-/**/-",
    "*--\n",
    "<--;\n",
)
WRONG = (
    ")", "]", ":", "::", ":=", "=>", "..", "@", "#", "!", "~", "|", "&&", "\\", "{", "$", "$1", "$1$", "$12", "?",
    "`", "->>", "<->", "@-", "!--\n", "~/**/", "#-", "+" * 5, "*/", "/", "'", '"', "E'", "$$", "$a$", "/*",
    "/* /* */", 'U&"', "U&'", "B'", "X'1", "1a", "0x", "0b2", "1__0", "1_", "$1a", "1e", "1e+", "1.5e-", "0o8",
    '""', 'U&""', "UESCAPE", "\x01", "\x7f", "\v", "$$$a$$$",
    "1..2", "1...2", "a.b", "[", "(", "=-", "=-1", "%-", "@+-", "^", "!=-",
    "<>-", "===", ";",
)  # fmt: skip
TEMPLATES = tuple(
    r"""
(select 1)
values (1), (2)
table kept
with x as (select 1) select * from x
insert into kept values (1)
with x as (select 1) insert into kept select * from x
update kept set a = 2
delete from kept
truncate kept
merge into kept using (select 1) s on false when not matched then do nothing
set work_mem = '1MB'
set local U&"work\005Fmem" to '2MB'
reset work_mem
show work_mem
discard plans
savepoint {n} ; release {n}
savepoint {n} ; rollback to {n}
prepare {n} as select 1 ; execute {n} ; deallocate {n}
explain select 1
explain ( costs off ) select 1
declare {n} cursor for select 1 ; fetch {n} ; move {n} ; close {n}
lock zones in share mode
notify {n}
listen {n}
unlisten {n}
do $_$begin end;$_$
do $_$ begin perform ';'; end $_$
grant select on zones to public
revoke select on zones from public
comment on table zones is 'a;b'
analyze zones
reindex table zones
create temp view {n} as select 1
create or replace local temporary recursive view {n} (a) as select 1
create temp table {n} (a int)
create temporary table if not exists {n} as select 1
select 1 as a into temp {n}
create unlogged table {n} (a int)
create schema {n}
create schema if not exists authorization current_user
create domain pg_temp.{n} as int
create type pg_temp.{n} as (a int)
create function pg_temp.{n}() returns int language sql as $_o$select 1;$_o$
create sequence {n}
create role {n}
alter role current_user set work_mem = '1MB'
alter database plain set work_mem = '1MB'
alter table kept add column {n} int
create rule {n} as on insert to zones do also nothing
create policy {n} on zones
create unique index {n} on zones (zone)
create aggregate pg_temp.{n} (int) (sfunc = int4pl, stype = int)
drop table if exists {n}
drop view if exists {n}
create materialized view {n} as select 1
create publication {n}
create text search configuration {n} (copy = simple)
alter default privileges grant select on tables to public
create event trigger {n} on ddl_command_end execute function fired()
create trigger {n} after insert on zones execute function fires()
load 'plpgsql'
call called()
refresh materialized view seen
set transaction read write
set time zone 'UTC'
set role none
set session authorization default
set names 'utf8'
""".strip().splitlines()
)
"""Statements that all work in one transaction; {n} is a new name, and ` ; ` stands between several."""


def blank(random: Random) -> str:
    """Return what may stand between two tokens; at least a blank."""
    return " ".join(random.choices(BLANKS, k=random.choice((0, 0, 1, 2)))).join(random.choice(("  ", " \n", "\t ")))


def selected(random: Random) -> str:
    """Return a SELECT of literals, numbers and names."""
    items = []
    for _ in range(random.randint(1, 4)):
        item = random.choice((*TEXTS, *NUMBERS))
        if random.random() < 0.5:
            item += blank(random) + "AS" + blank(random) + random.choice(NAMES)
        items.append(item)
    return f"SELECT{blank(random)}{(blank(random) + ',' + blank(random)).join(items)}"


def spaced(random: Random, statement: str) -> str:
    """Return a statement of simple words with other blanks, and other capitals."""
    words = [word.upper() if word.isalpha() and random.random() < 0.3 else word for word in statement.split(" ")]
    return "".join(word + blank(random) for word in words[:-1]) + words[-1]


def soup(random: Random) -> str:
    """Return tokens in no order, the first of which may be a SELECT that parses."""
    begun = selected(random) + blank(random) if random.random() < 0.7 else ""
    parts: Sequence[str] = (*TEXTS, *NAMES, *NUMBERS, *SIGNS, *WRONG, *WRONG, *BLANKS)
    return begun + "".join(
        random.choice(parts) + ("" if random.random() < 0.4 else " ") for _ in range(random.randint(1, 6))
    )
