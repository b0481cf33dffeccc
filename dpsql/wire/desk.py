"""What both protocols, simple and extended, share in a session: who asks, what a statement is, what was prepared."""

import logging
import re
from collections.abc import Callable

from dpsql.errors import DpsqlError, InternalError
from dpsql.question import Answers, Asker
from dpsql.wire.asking import Asking
from dpsql.wire.backend import Backend
from dpsql.wire.encoding import codec_of
from dpsql.wire.names import Names, Prepared
from dpsql.wire.replies import Kind, Owed
from dpsql.wire.running import Runner
from dpsql.wire.statement import Denied, ExecuteNamed, Prepare, Private, Statement, by_first_words

_SIGNAL = re.compile(r"\bpg_(?:cancel|terminate)_backend\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d{1,9}\b", re.ASCII)

_LOG = logging.getLogger("dpsql.wire")


class Desk:
    """One client's session in the shadow, as the parts of the wire that run statements see it."""

    def __init__(
        self,
        backend: Backend,
        asking: Asking,
        answers: Answers,
        asker: Asker,
        write: Callable[[bytes], None],
        signal: Callable[[int], None],
    ) -> None:
        """`write` sends to the client, `signal` cancels another session of the same user by its number."""
        self.backend = backend
        self.names = Names()
        self.runner = Runner(backend, asking, write)
        self._answers = answers
        self._asker = asker
        self._signal = signal

    @property
    def codec(self) -> str | None:
        """Return what reads the client's texts; None if nothing does."""
        return codec_of(self.backend.replies.parameters.get("client_encoding", "UTF8"))

    def text(self, raw: bytes) -> str | None:
        """Return what the client wrote; None when we can't read it, which leaves it to the shadow's tripwire."""
        codec = self.codec
        try:
            return None if codec is None else raw.decode(codec)
        except UnicodeDecodeError:
            return None

    def inspect(self, text: str) -> Statement | None:
        """Return what `text` is to us; None if it is the shadow's alone."""
        if _SIGNAL.search(text):
            for number in _NUMBER.findall(text):
                self._signal(int(number))
        found = by_first_words(text)
        if found is not None:
            return found
        try:
            question = self._answers.examine(text, self._asker)
        except DpsqlError as failed:
            return Denied(failed)
        except Exception:  # noqa: BLE001 # the seam: a bug of the gateway must not end the session
            _LOG.exception("a statement could not be examined")
            return Denied(InternalError())
        return None if question is None else Private(question)

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return where the statements of a simple query are."""
        if ";" not in text.rstrip().removesuffix(";"):
            return ((0, len(text)),)
        return self._answers.statements(text)

    def run_prepare(self, raw: bytes, prepare: Prepare, codec: str) -> None:
        """Send the Execute of a PREPARE, and remember what it prepared once the shadow has done it."""
        inner = self.inspect(prepare.inner)
        prepared = Prepared(prepare.inner, (), inner) if isinstance(inner, Private) else None
        name = prepare.name.encode(codec)
        if prepared is not None:
            self.names.expect_statement(name)
        owed = Owed(Kind.EXECUTE, confirmed=lambda: self.names.parsed(name, prepared))
        self.backend.send(raw, owed)

    def named(self, execute: ExecuteNamed, codec: str) -> tuple[Private, Prepared] | None:
        """Return the private statement that an EXECUTE means; None if it is the shadow's alone."""
        prepared = self.names.statements.get(execute.name.encode(codec))
        if prepared is None or not isinstance(prepared.statement, Private):
            return None
        return prepared.statement, prepared
