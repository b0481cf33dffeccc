"""The filter of system calls, read as the kernel reads it, on both machines whose numbers we know."""

import struct

import pytest

from dpsql.shadow.server import sandbox

ALLOWED, REFUSED, ABSENT, KILLED = 0x7FFF0000, 0x0005000D, 0x00050026, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OTHER = 0x40000003
"""The audit number of 32-bit programs on x86."""


@pytest.fixture(params=sorted(AUDIT))
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Pretend to be on a machine."""
    monkeypatch.setattr("platform.machine", lambda: request.param)
    return str(request.param)


def verdict(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """Run the filter for one call, and return what the kernel would do."""
    call = struct.pack("<IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    instructions = list(struct.iter_unpack("<HBBI", program))
    place, held = 0, 0
    while True:
        code, met, unmet, value = instructions[place]
        place += 1
        match code:
            case 0x20:
                held = struct.unpack_from("<I", call, value)[0]
            case 0x54:
                held &= value
            case 0x15:
                place += met if held == value else unmet
            case 0x35:
                place += met if held >= value else unmet
            case 0x06:
                return int(value)
            case _:
                pytest.fail(f"unknown instruction {code:#x}")


NUMBERS = {
    "x86_64": {"read": 0, "socket": 41, "connect": 42, "clone": 56, "ptrace": 101, "truncate": 76, "clone3": 435},
    "aarch64": {"read": 63, "socket": 198, "connect": 203, "clone": 220, "ptrace": 117, "truncate": 45, "clone3": 435},
}
UNIX, INET, STREAM, DATAGRAM, CLOSE_ON_EXEC = 1, 2, 1, 2, 0o2000000
NEW_USER = 0x10000000


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("read", (3,), ALLOWED),
        ("connect", (3,), REFUSED),
        ("ptrace", (16, 1), REFUSED),
        ("socket", (UNIX, STREAM | CLOSE_ON_EXEC), ALLOWED),
        ("socket", (UNIX, DATAGRAM), REFUSED),
        ("socket", (INET, STREAM), REFUSED),
        ("socket", (INET | 1 << 32, DATAGRAM), REFUSED),
        ("clone", (17,), ALLOWED),
        ("clone", (17 | NEW_USER,), REFUSED),
        ("clone3", (), ABSENT),
        ("truncate", (), ALLOWED),
    ],
)
def test_calls_are_judged(machine: str, call: str, arguments: tuple[int, ...], expected: int) -> None:
    """The server's own calls pass, those that lead out are refused."""
    program = sandbox.filter_program(7)
    assert verdict(program, AUDIT[machine], NUMBERS[machine][call], *arguments) == expected


def test_old_landlock_leaves_truncation_to_the_filter(machine: str) -> None:
    """Before its third version Landlock does not cover it."""
    number = NUMBERS[machine]["truncate"]
    assert verdict(sandbox.filter_program(2), AUDIT[machine], number) == REFUSED


def test_calls_of_another_architecture_end_the_server(machine: str) -> None:
    """The same call has another number there, and the filter would judge another one."""
    assert verdict(sandbox.filter_program(7), OTHER, NUMBERS[machine]["read"]) == KILLED
    assert verdict(sandbox.filter_program(7), AUDIT[machine], 0x40000000 | NUMBERS[machine]["read"]) == REFUSED


def test_unknown_machine_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong numbers would be worse than none."""
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert not sandbox.filters_available()
