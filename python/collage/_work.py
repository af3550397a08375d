# SPDX-License-Identifier: Apache-2.0
"""Long work of the compiler. A thread of its own does it, so that the caller's is free for signals: Ctrl-C ends the call in
half a second at most. What it is at is shown meanwhile."""
from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from typing import Any, Callable, ContextManager, List, NamedTuple, Optional, Tuple, TypeVar, Union

from . import _collage

_Result = TypeVar("_Result")
_TICK = 0.05  # seconds between looks at what the work is at
_PATIENCE = 0.4  # seconds in which work that was stopped has ended, almost always


class Progress(NamedTuple):
    """What a step is at."""

    work: str  #: "measuring", "searching", "compiling", "checking" or "running"
    done: int
    of: int  #: 0: it is not known
    detail: str  #: what is worked on; of a search its cost, bound and gap

    def __str__(self) -> str:
        steps = f" {self.done} of {self.of}" if self.of else ""
        return f"{self.work}{steps}" + (f": {self.detail}" if self.detail else "")


#: None: a line on stderr, where that is a terminal. True: there in any case. False: nothing. Or a function that is called with
#: what is new.
Shown = Union[None, bool, Callable[[Progress], Any]]


class _Line:
    """A line of stderr that says what the work is at, from its first half second on. Where stderr is no terminal, a line each
    ten seconds."""

    _FIRST = 0.5
    _BETWEEN = 10.0

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._next = self._start + (self._FIRST if self._is_terminal else self._BETWEEN)
        self._is_shown = False

    def __call__(self, progress: Optional[Progress]) -> None:
        now = time.monotonic()
        if progress is None or now < self._next:
            return
        text = f"{now - self._start:.0f} s  {progress}"
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\x1b[K" + text[:width])
            self._is_shown = True
        else:
            sys.stderr.write(f"collage: {text}\n")
            self._next = now + self._BETWEEN
        sys.stderr.flush()

    def close(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _News:
    """Calls a function with each progress that differs from the one before."""

    def __init__(self, function: Callable[[Progress], Any]) -> None:
        self._function = function
        self._last: Optional[Progress] = None

    def __call__(self, progress: Optional[Progress]) -> None:
        if progress is not None and progress != self._last:
            self._last = progress
            self._function(progress)

    def close(self) -> None:
        pass


def checked(progress: Shown) -> Shown:
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress: want True, False or a function, not {type(progress).__name__}")
    return progress


def _display(progress: Shown) -> Union[_Line, _News]:
    if callable(progress):
        return _News(progress)
    # There is no stderr under pythonw and the like.
    if sys.stderr is not None and (progress or (progress is None and sys.stderr.isatty())):
        return _Line()
    return _News(lambda _: None)


class _Turn:
    """The time in which a compiler is at one piece of work. Several threads may wait for theirs, with a lock."""

    def __init__(self, compiler: _collage.Compiler) -> None:
        self._compiler = compiler
        self._guard = threading.Lock()
        self._is_dropped = False
        self._has_begun = False
        self._is_now = False
        self._before: Optional[Tuple[str, int, int, str]] = None

    def begin(self) -> bool:
        """False where the work was dropped meanwhile."""
        with self._guard:
            if self._is_dropped:
                return False
            self._compiler.stop(False)
            self._before = self._compiler.progress()  # of the work before
            self._has_begun = self._is_now = True
            return True

    def end(self) -> None:
        with self._guard:
            self._is_now = False

    def drop(self) -> None:
        """Stops this work, and no other that the compiler is at."""
        with self._guard:
            self._is_dropped = True
            if self._is_now:
                self._compiler.stop()

    def progress(self) -> Optional[Progress]:
        now = self._compiler.progress() if self._has_begun else None
        return None if now is None or now == self._before else Progress(*now)


def run(compiler: _collage.Compiler, work: Callable[[], _Result], progress: Shown = None,
        lock: Optional[ContextManager[Any]] = None) -> _Result:
    """Returns what `work` returns, which no other work with this lock runs beside. An exception in this thread, as of Ctrl-C,
    ends it: what is left of it then goes on in its thread for a moment."""
    done, turn = threading.Event(), _Turn(compiler)
    results: List[_Result] = []
    failures: List[BaseException] = []

    def do() -> None:
        try:
            with lock if lock is not None else contextlib.nullcontext():
                if turn.begin():
                    try:
                        results.append(work())
                    finally:
                        turn.end()
        except BaseException as failure:  # noqa: B902: the caller's thread raises it
            failures.append(failure)
        finally:
            done.set()

    display = _display(progress)
    try:
        # Not a daemon: the interpreter waits for it where it ends before.
        thread = threading.Thread(target=do, name="collage")
        thread.start()
        is_done = False
        while not is_done:
            is_done = done.wait(_TICK)
            display(turn.progress())
        thread.join()
    except BaseException:
        turn.drop()
        done.wait(_PATIENCE)
        raise
    finally:
        display.close()
    if failures:
        raise failures.pop()
    return results.pop()
