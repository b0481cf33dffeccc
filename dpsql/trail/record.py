"""The contents of one line of the audit trail, and the chain of hashes, which no change of a byte keeps right.

A statement and its parameters are the client's own words. All else is known without the data, or is a release's name:
errors are there by their codes only, since a text of PostgreSQL's may quote a value.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from dpsql.accounting.ledger import presentable
from dpsql.accounting.privacy_loss import show_up
from dpsql.errors import AuditFailed
from dpsql.policy.model import Privacy

_LONGEST = 100_000
"""Characters of a text that are kept, and of all parameters of a statement together."""
RELEASE_DIGITS = 16
"""Hexadecimal digits by which a release is named: those that its charge's key in the ledger begins with."""
# Two characters stand for a whole class of codes.
_SYSTEM = ("08", "57", "58", "XX", "53100", "55P03")
"""Errors that no statement is at fault for: connections, cancels, disks, bugs."""


class AuditEvent(StrEnum):
    """The subject of a line."""

    STATEMENT = "statement"
    LOG_IN = "log-in"
    START = "start"
    STOP = "stop"
    MORE = "more"
    """Statements that cost nothing, of a user who has had so many that they are counted only."""


class AuditVerdict(StrEnum):
    """The outcome of a statement or a log-in."""

    ANSWERED = "answered"
    """It was paid for, and its releases were handed on."""
    FREE = "free"
    """It was about the records, and cost nothing: its releases are stored, or nothing was measured."""
    PUBLIC = "public"
    """It was about no record: the shadow took it."""
    ACCEPTED = "accepted"
    """A log-in's."""
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One line, before it has its place in the chain."""

    time: datetime
    event: AuditEvent
    user: str = ""
    role: str | None = None
    address: str = ""
    application: str = ""
    statement: str | None = None
    execute: str | None = None
    """The EXECUTE that named the statement; its arguments may compute with released values, which stay out."""
    parameters: tuple[str | None, ...] | None = None
    verdict: AuditVerdict | None = None
    code: str | None = None
    """The SQLSTATE of an error."""
    rule: str | None = None
    cost: Privacy | None = None
    """The charge."""
    seconds: float | None = None
    releases: tuple[str, ...] = ()
    """The keys of the releases that it was answered from, or has paid for."""
    trial: str | None = None
    """The verdict of the trial on synthetic people on its measurements."""
    about: str | None = None
    """The version, data set and policy of a start; how many more lines there were."""

    def fields(self) -> Mapping[str, object]:
        """Return what the line has, in its order; what does not apply is left out."""
        cost = self.cost
        # In the order of the file. A field that does not apply is no null: it is not there.
        every: Mapping[str, object] = {
            "time": self.time.astimezone(UTC).isoformat(timespec="microseconds"),
            "event": self.event,
            "user": _kept(self.user) if self.user else None,
            "role": self.role,
            "address": self.address or None,
            "application": _kept(self.application) if self.application else None,
            "statement": None if self.statement is None else _kept(self.statement.strip()),
            "execute": None if self.execute is None else _kept(self.execute.strip()),
            "parameters": _kept_parameters(self.parameters or ()) or None,
            "verdict": self.verdict,
            "code": self.code,
            "rule": self.rule,
            "epsilon": None if cost is None else show_up(cost.epsilon),
            "delta": None if cost is None else show_up(cost.delta),
            "milliseconds": None if self.seconds is None else round(self.seconds * 1000, 1),
            "releases": [key[:RELEASE_DIGITS] for key in self.releases] or None,
            "trial": self.trial,
            "about": self.about,
        }
        return {name: value for name, value in every.items() if value is not None}

    @property
    def counts_only(self) -> bool:
        """Return whether it may be counted instead of being written: a statement of a user's which was not charged."""
        return self.event is AuditEvent.STATEMENT and (self.cost is None or not self.cost.epsilon)

    def unwritten(self) -> "AuditRecord":
        """Return what is to be written later, where it could not be at once: the client has heard so instead."""
        if self.verdict in (AuditVerdict.ANSWERED, AuditVerdict.FREE):
            return replace(self, verdict=AuditVerdict.FAILED, code=AuditFailed.sqlstate)
        if self.verdict is AuditVerdict.ACCEPTED:
            return replace(self, verdict=AuditVerdict.REFUSED, code=AuditFailed.sqlstate)
        # A public answer goes out before its line, and what was refused or has failed stays so.
        return self


def verdict_of(sqlstate: str, cost: Privacy) -> AuditVerdict:
    """Return whether an error refused a statement, or failed it: after a charge, or for no fault of the statement's."""
    return AuditVerdict.FAILED if cost.epsilon or sqlstate.startswith(_SYSTEM) else AuditVerdict.REFUSED


def _kept(text: str) -> str:
    """Return a text as it can be written down; of a very long one the beginning, its length and its hash."""
    shown = presentable(text)
    if len(shown) <= _LONGEST:
        return shown
    return f"{shown[:_LONGEST]}… ({len(shown)} characters, SHA-256 {hashlib.sha256(shown.encode()).hexdigest()})"


def _kept_parameters(parameters: Sequence[str | None]) -> list[str | None]:
    """Return parameters as they can be written down; of very many the first ones, and the others' length and hash."""
    kept, left = list[str | None](), _LONGEST
    for place, parameter in enumerate(parameters):
        text = None if parameter is None else _kept(parameter)
        if text is not None and left <= 0:
            return [*kept, _others(parameters[place:])]
        kept.append(text)
        left -= len(text or "")
    return kept


def _others(parameters: Sequence[str | None]) -> str:
    """Return how parameters are known that are not kept."""
    texts = ["" if parameter is None else presentable(parameter) for parameter in parameters]
    # No text has a zero byte in it (`presentable`), so that ("ab", "c") and ("a", "bc") have different hashes.
    whole = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return f"… ({len(texts)} more of {sum(map(len, texts))} characters, SHA-256 {whole})"


# The chain: each line has the hash of the line before it, and its own, which no change of a byte keeps right.
#
# {"line":2,"time":…,"event":"statement",…,"previous":"<hash of line 1>","hash":"<SHA-256 of all before this key>"}

# The hash is of bytes: what is the same JSON in other words, with a blank more or another escape, is a change.
_LINE = re.compile(rb'(\{"line":.*),"hash":"([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A line's place in the chain."""

    number: int
    hash: str


BEGINNING = ChainLink(0, "0" * 64)
"""The link that the first line follows."""


@dataclass(frozen=True, slots=True)
class ChainedLine:
    """A line that is as it was written."""

    link: ChainLink
    previous: str
    fields: Mapping[str, object]
    size: int
    """Bytes, without its end."""

    def follows(self, before: ChainLink) -> bool:
        """Return whether it is the line after another."""
        return self.link.number == before.number + 1 and self.previous == before.hash


def chain_line(fields: Mapping[str, object], before: ChainLink) -> tuple[bytes, ChainLink]:
    """Return the line that follows another, with its end, and its link."""
    number = before.number + 1
    whole = json.dumps(
        {"line": number, **fields, "previous": before.hash}, ensure_ascii=False, separators=(",", ":")
    ).encode()
    body = whole[:-1]  # the brace comes after the hash
    link = ChainLink(number, hashlib.sha256(body).hexdigest())
    return body + f',"hash":"{link.hash}"}}\n'.encode(), link


def read_line(raw: bytes) -> ChainedLine | None:
    """Return a line, without its end, if it is as it was written; else None."""
    match = _LINE.fullmatch(raw)
    if match is None or hashlib.sha256(match[1]).hexdigest() != match[2].decode():
        return None
    try:
        fields = json.loads(match[1] + b"}")
        return ChainedLine(
            ChainLink(int(fields.pop("line")), match[2].decode()), str(fields.pop("previous")), fields, len(raw)
        )
    except (ValueError, TypeError, KeyError):
        return None
