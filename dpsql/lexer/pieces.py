"""The shapes of tokens: the patterns of PostgreSQL's `scan.l` (version 16), as Python's `re` writes them.

Every loop is possessive: each character can be read in one way only, so that no text is tried in all the others. All
characters outside ASCII are letters to PostgreSQL; only five characters are blank. A vertical tab is a sixth from
version 17 on: outside quotes it is refused, since it would join literals in one version and not in another.
"""

NEWLINE = r"[\n\r]"
BLANK = r"[ \t\n\r\f]"
_LINE = r"--[^\n\r]*+"
SKIPPED = rf"(?:{BLANK}++|{_LINE})"
"""The text between tokens, but for comments of the other kind, which nest."""
# A comment in /* */ does not join literals: two with one between them are two tokens.
CONTINUED = rf"(?:[ \t\f]|{_LINE})*+{NEWLINE}(?:{BLANK}++|{_LINE}{NEWLINE})*+'"
"""The space that joins two literals into one: at least one new line, and then the next one's quote."""

LETTER = r"[^\x00-@\[-^`{-\x7f]"
"""Those of ASCII, `_` and all outside ASCII, by what is none: Python takes 7 ms to compile a set of a million."""
_MORE = r"[^\x00-#%-/:-@\[-^`{-\x7f]"
_IN_TAGS = r"[^\x00-/:-@\[-^`{-\x7f]"
# What begins like e'…', b'…', x'…' or U&'…' is a literal with its prefix, and no name before a literal. n'…' is a name
# and a literal: PostgreSQL reads the keyword NCHAR there.
NAME = rf"(?![eEbBxX]'|[uU]&['\"]){LETTER}{_MORE}*+"

_PLAIN = r"(?:[^']|'')*+'"
_BACKSLASHES = r"(?:[^'\\]|\\[\s\S]|'')*+'"
_BITS = r"[^']*+'"


def _literal(prefix: str, inside: str) -> str:
    # A part that does not end must not be left to be read as a literal of another sort.
    return rf"{prefix}'{inside}(?:{CONTINUED}{inside})*+(?!{CONTINUED})"


PLAIN = _literal("", _PLAIN)
ESCAPED = _literal("[eE]", _BACKSLASHES)
BACKSLASHED = _literal("", _BACKSLASHES)
"""A plain literal where `standard_conforming_strings` is off."""
UNICODE = _literal("[uU]&", _PLAIN)
BITS = _literal("[bBxX]", _BITS)

_IN_QUOTES = r'"(?:[^"]|"")*+"'
QUOTED = rf'(?!""(?!")){_IN_QUOTES}'
UNICODE_NAME = rf'[uU]&(?!""(?!")){_IN_QUOTES}'

_DIGITS = r"[0-9](?:_?[0-9])*+"
# 1..10 is three tokens, as in a FOR of PL/pgSQL. Underscores between digits are read from version 16 on.
_NUMBER = (
    rf"(?:0[xX](?:_?[0-9A-Fa-f])++|0[oO](?:_?[0-7])++|0[bB](?:_?[01])++"
    rf"|(?:{_DIGITS}(?:\.(?!\.)(?:{_DIGITS})?+)?+|\.{_DIGITS})(?:[eE][-+]?+{_DIGITS})?+)"
)
NUMBER = rf"{_NUMBER}(?!{LETTER}|\$)"
"""No statement has a dollar right behind a number; whether it belongs to it is another question in each version."""
PARAMETER = rf"\$[0-9]++(?!{LETTER})"

TAG = rf"\$(?:{LETTER}{_IN_TAGS}*+)?+\$"
"""The tag that a dollar-quoted literal begins and ends with."""
UNTAGGED = r"\$\$(?:[^$]|\$(?!\$))*+\$\$"

LONGEST_OPERATOR = 63
"""PostgreSQL reads a longer one in quadratic time, or not at all."""
SIGN = r"(?:[~!@#^&|`?+*%<>=]|-(?!-)|/(?!\*))"
OPERATOR = rf"{SIGN}{{1,{LONGEST_OPERATOR}}}+(?!{SIGN})"
"""Operators without anything between them; a comment may begin where they end."""
SIGNS = r"[~!@#^&|`?+\-*/%<>=]"
LONGEST_RUN = 2_000
"""Signs in one piece with the beginning of a comment among them: PostgreSQL reads such a piece anew for each of these."""
PUNCTUATION = r"(?:::|\.\.|:=|[,()\[\]:;]|\.(?![0-9]))"
OTHER = r"[\\{}\x01-\x08\x0e-\x1f\x7f]"

_FLAT = r"[^*/]|\*(?!/)|/(?!\*)"
_COMMENT = rf"/\*(?:{_FLAT})*+\*/"
COMMENT = rf"/\*(?:{_FLAT}|{_COMMENT})*+\*/"
"""A comment with none in it, or with comments that have none; deeper ones have to be counted."""
