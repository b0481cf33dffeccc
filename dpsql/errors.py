"""Everything dpsql says when it can't go on: one tree, the SQLSTATE on the class.

    DpsqlError
    ├── ConfigError       F0000  at start only; file, line and value
    ├── SyntaxFailed      42601  does not parse
    ├── Unsupported       0A000  parses, is not allowed; the hint says what to write instead
    ├── AccessDenied      42501  rows of a protected table; a table that is not granted
    ├── MissingBounds     55000  an aggregate needs bounds or a domain that the policy lacks
    ├── BudgetExhausted   53400  says when it renews
    ├── AccountClosed     55000  measurements have failed, and the owner has to look
    ├── AuthFailed        28P01  one text for every cause
    ├── DirectoryAway     57P03  the directory that knows passwords can't be asked: fixed text
    ├── EncryptionRequired 28000 there is a certificate, and the client does not use it
    ├── ProtocolError     08P01  malformed frames
    ├── InvalidText       22021  bytes or an encoding that can't be read
    ├── LimitExceeded     54000  too many bytes are kept for a session, its user or everybody
    ├── TooComplex        54001  planning takes too long; says what to shorten
    ├── TooManyRows       21000  an inner query was to have one row, and its answer has several
    ├── InvalidSetting    22023  a setting of dpsql's own can't have this value
    ├── UnknownSetting    42704  dpsql has no setting of this name
    ├── UndefinedParameter 42P02 a parameter in a statement that takes none
    ├── UnknownDatabase   3D000  the client asks for another data set
    ├── TooManyClients    53300  a limit of connections is reached
    ├── ShuttingDown      57P01  dpsql stops, or reads another configuration
    ├── EngineAway        08001  the engine can't be reached: fixed text, nothing is charged
    ├── EngineNotReady    57P03  it does not take the measurement: fixed text, nothing is charged
    ├── TrialFailed       58000  a statement does not hold on synthetic people what it claims; nothing is charged
    ├── LedgerFull        53100  the ledger's disk is full: fixed text
    ├── LedgerBusy        55P03  another process keeps the ledger locked: fixed text
    ├── LedgerFailed      58030  the ledger can't be read or written: fixed text
    ├── AuditFailed       58030  the audit trail can't be written: fixed text
    ├── QueryCanceled     57014  a cancel request or the deadline
    │   └── StatementTimeout     the deadline that the session has set
    ├── EngineLost        08006  the connection broke after data may have been read: fixed text
    ├── EngineFailed      58000  after data was read: fixed text
    └── InternalError     XX000  an invariant of our own broke: fixed text

dpsql's own refusals (Unsupported, AccessDenied, MissingBounds, BudgetExhausted, AccountClosed, InvalidSetting,
UnknownSetting, TooComplex) have the short code of a rule, `because`: docs/errors.md lists the codes, and each stands in
exactly one file, that of its rule.

Errors that are raised after data was read (the last four) take no message, so that no fact about the data can be put
into it.
"""

from dataclasses import dataclass
from typing import ClassVar

_TELL = "Tell the operator of dpsql; its log has the cause."


class DpsqlError(Exception):
    """An error that a person will read: the mistake, and the next step as a hint."""

    sqlstate: ClassVar[str] = "XX000"
    because: str | None = None
    """The short code of the rule by which dpsql refuses; it stands in one file of dpsql, that of the rule."""

    # The key word has no default: a class without a SQLSTATE can't be written.
    def __init_subclass__(cls, *, sqlstate: str) -> None:
        cls.sqlstate = sqlstate

    def __init__(self, message: str, *, hint: str | None = None, position: int | None = None) -> None:
        """Say `message`; `position` is the 1-based character in the statement, where it is known."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.position = position

    @property
    def detail(self) -> str | None:
        """Return what leads to the rule, as PostgreSQL's clients show it: `DETAIL:  rule: key-without-domain`."""
        return f"rule: {self.because}" if self.because else None


class _RefusedByRule(DpsqlError, sqlstate="0A000"):
    """A refusal of dpsql's own, by a rule that it names."""

    def __init__(self, message: str, *, because: str, hint: str | None = None, position: int | None = None) -> None:
        super().__init__(message, hint=hint, position=position)
        self.because = because


class ConfigError(DpsqlError, sqlstate="F0000"):
    """The configuration can't be used; the message has one line per mistake."""


class SyntaxFailed(DpsqlError, sqlstate="42601"):
    """The statement does not parse."""


class Unsupported(_RefusedByRule, sqlstate="0A000"):
    """The statement parses but can't be answered privately in these words."""


class AccessDenied(_RefusedByRule, sqlstate="42501"):
    """Rows of a protected table were asked for, or a table that the role may not use."""


class MissingBounds(_RefusedByRule, sqlstate="55000"):
    """The policy lacks the bounds or the domain that the statement needs."""


class BudgetExhausted(_RefusedByRule, sqlstate="53400"):
    """The charge would pass a budget."""


class AccountClosed(_RefusedByRule, sqlstate="55000"):
    """Measurements of the role have failed, and it is charged for no more until the owner has looked."""


class InvalidSetting(_RefusedByRule, sqlstate="22023"):
    """A setting of dpsql's own can't have the value that it was given."""


class UnknownSetting(_RefusedByRule, sqlstate="42704"):
    """A setting with dpsql's prefix that dpsql does not have."""


class EncryptionRequired(DpsqlError, sqlstate="28000"):
    """The server has a certificate, and the client speaks without TLS."""


class ProtocolError(DpsqlError, sqlstate="08P01"):
    """The client sent bytes that are not the protocol."""


class InvalidText(DpsqlError, sqlstate="22021"):
    """The bytes are no text in the client's encoding, or the encoding is one that dpsql does not read."""


class LimitExceeded(DpsqlError, sqlstate="54000"):
    """A session, its user or all together would keep too many bytes here."""


class TooComplex(_RefusedByRule, sqlstate="54001"):
    """Planning the statement takes more than one statement may take."""


class TooManyRows(DpsqlError, sqlstate="21000"):
    """An inner query whose one value is asked for has several rows: released ones, of which PostgreSQL would say the same."""


class UndefinedParameter(DpsqlError, sqlstate="42P02"):
    """The statement has a parameter where none can be given."""


class UnknownDatabase(DpsqlError, sqlstate="3D000"):
    """The client asked for a database that is not served."""


class TooManyClients(DpsqlError, sqlstate="53300"):
    """A limit of connections is reached."""


class ShuttingDown(DpsqlError, sqlstate="57P01"):
    """dpsql stops, or what it serves or whom has changed, and this connection ends."""


class _FixedError(DpsqlError, sqlstate="XX000"):
    """An error whose text can't depend on anything."""

    text: ClassVar[str] = ""
    advice: ClassVar[str | None] = None

    def __init_subclass__(cls, *, sqlstate: str, text: str, advice: str | None = None) -> None:
        cls.sqlstate, cls.text, cls.advice = sqlstate, text, advice

    def __init__(self) -> None:
        super().__init__(self.text, hint=self.advice)


class AuthFailed(_FixedError, sqlstate="28P01", text="password authentication failed"):
    """The log-in failed, for any reason."""


class DirectoryAway(
    _FixedError,
    sqlstate="57P03",
    text="the directory that knows passwords can't be asked now",
    advice=f"Try again in a moment. {_TELL}",
):
    """Whether a password is right is not known; nothing is counted against anybody."""


class LedgerFull(
    _FixedError,
    sqlstate="53100",
    text="the disk of the ledger is full",
    advice="Nothing that costs is answered until the operator has made room; earlier answers stay free.",
):
    """There is no room for a charge and for what it would pay for."""


class LedgerFailed(_FixedError, sqlstate="58030", text="the ledger can't be read or written", advice=_TELL):
    """The ledger's file is damaged, out of reach, or the process has no descriptors left."""


class LedgerBusy(
    _FixedError,
    sqlstate="55P03",
    text="the ledger is locked by another process",
    advice="Try again. The operator of dpsql finds out which process holds it: a backup, or a forgotten sqlite3.",
):
    """Another process has kept the ledger locked for too long."""


class AuditFailed(
    _FixedError,
    sqlstate="58030",
    text="the audit trail can't be written, so nothing is answered",
    advice="Tell the operator of dpsql. Answers that were charged meanwhile are stored: asking again is free.",
):
    """The line that says what was asked is not on the disk."""


class QueryCanceled(_FixedError, sqlstate="57014", text="canceling statement due to user request or time limit"):
    """The statement was cancelled or met its deadline."""


class StatementTimeout(QueryCanceled, sqlstate="57014", text="canceling statement due to statement timeout"):
    """The statement took longer than the session's statement_timeout."""


class EngineAway(
    _FixedError,
    sqlstate="08001",
    text="the engine that holds the records can't be reached; nothing was charged",
    advice="Try again later. The operator of dpsql finds the cause in its log.",
):
    """The engine can't be reached; no data was read."""


class EngineNotReady(
    _FixedError,
    sqlstate="57P03",
    text="the engine does not accept the measurement, perhaps because its tables have changed; nothing was charged",
    advice="Try again in a moment. If it stays so, ask the operator to correct what dpsql check names, in schemas/ mostly, "
    "and run dpsql reload.",
):
    """The engine refuses a statement, or holds other data than were opened; no data was read."""


class EngineLost(
    _FixedError,
    sqlstate="08006",
    text="the connection to the engine broke during the measurement; the charge stands",
    advice="The operator's log has the cause.",
):
    """The engine went away after data may have been read."""


class TrialFailed(DpsqlError, sqlstate="58000"):
    """A statement did not hold on synthetic people what it claims; no record was read, and nothing charged."""


class EngineFailed(
    _FixedError,
    sqlstate="58000",
    text="the measurement failed; the charge stands",
    advice="Asking again is free, and fails in the same way until the next epoch. The operator's log has the cause.",
):
    """A measurement failed after data may have been read; the cause is only in the operator's log."""


class InternalError(
    _FixedError, sqlstate="XX000", text="internal error of dpsql", advice="The operator's log has the cause."
):
    """An invariant of dpsql did not hold."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error to be raised later, and more than once: an exception that was raised remembers where, and can be changed."""

    kind: type[DpsqlError]
    message: str
    hint: str | None = None
    position: int | None = None
    because: str | None = None

    @classmethod
    def of(cls, error: DpsqlError) -> "Refusal":
        """Return what `error` says."""
        return cls(type(error), error.message, error.hint, error.position, error.because)

    def error(self) -> DpsqlError:
        """Return a new exception."""
        # These take no message, and so no message can be handed on to them.
        if issubclass(self.kind, _FixedError):
            return self.kind()
        if issubclass(self.kind, _RefusedByRule) and self.because is not None:
            return self.kind(self.message, because=self.because, hint=self.hint, position=self.position)
        return self.kind(self.message, hint=self.hint, position=self.position)
