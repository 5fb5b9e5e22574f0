"""A machine for classic BPF programs as the kernel runs them over system calls: enough to test a filter."""

import struct
from collections.abc import Sequence

ALLOWED, KILLED, FAILED = 0x7FFF0000, 0x80000000, 0x00050000


def verdict(program: bytes, number: int, arguments: Sequence[int] = (), *, mark: int) -> int:
    """What the filter returns for this call; AssertionError where the kernel would not accept the program."""
    six = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, mark, 0, *(value & 0xFFFF_FFFF_FFFF_FFFF for value in six))
    steps = list(struct.iter_unpack("=HBBI", program))
    assert 0 < len(steps) <= 4096
    accumulator, index = 0, 0
    while True:
        code, when_true, when_false, value = steps[index]
        index += 1
        match code:
            case 0x20:
                assert value % 4 == 0
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x54:
                accumulator &= value
            case 0x15:
                index += when_true if accumulator == value else when_false
            case 0x35:
                index += when_true if accumulator >= value else when_false
            case 0x45:
                index += when_true if accumulator & value else when_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


def reachable(program: bytes) -> bool:
    """Whether every instruction can be reached and every jump stays within the program."""
    steps = list(struct.iter_unpack("=HBBI", program))
    open_, seen = [0], set[int]()
    while open_:
        index = open_.pop()
        if index in seen or index >= len(steps):
            continue
        seen.add(index)
        code, when_true, when_false, _ = steps[index]
        if code & 0x07 == 0x05:
            assert index + 1 + max(when_true, when_false) < len(steps)
            open_ += [index + 1 + when_true, index + 1 + when_false]
        elif code != 0x06:
            open_.append(index + 1)
    return len(seen) == len(steps)
