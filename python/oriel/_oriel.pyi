"""The native part, which `oriel` wraps."""

import os

VERSION: str

class Error(Exception):
    """A source cannot be read, compiled or judged; the message is the command line tool's."""

class Functions:
    def lines(self) -> str: ...
    def page(self) -> str: ...

def compile(
    name: str | os.PathLike[str],
    content: bytes | None,
    sm: str | None,
    ptx_version: int | None,
    level: int,
    flags: str,
    llvm_flags: str,
    fp_fusion: bool,
    ptxas: bool | str | os.PathLike[str],
) -> tuple[bytes, str, Functions]: ...
def live(
    name: str | os.PathLike[str], content: bytes | None, sm: str | None
) -> list[tuple[str, str, str, list[tuple[int, list[tuple[str, str]]]]]]: ...
def report(
    name: str | os.PathLike[str],
    content: bytes | None,
    sm: list[str],
    ptx_version: int | None,
    profile: str | None,
    llvm_flags: str,
    ptxas: bool | str | os.PathLike[str],
) -> Functions: ...
def tune(
    name: str | os.PathLike[str], content: bytes | None, arguments: list[str]
) -> tuple[str, bytes | None]: ...
