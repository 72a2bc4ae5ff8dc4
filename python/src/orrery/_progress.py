# SPDX-License-Identifier: Apache-2.0
"""Where the progress of a command is shown: by the command's own line in a terminal, by one that is
updated in place in a notebook, else line by line as the command writes it to a file.

The first two give the command a terminal of their own (a pty) for its standard error: so it draws
the line for a person, and we can still tell that line from sentences."""

import os
import pty
import re
import struct
import sys
import termios
import time
from fcntl import ioctl

NOTEBOOK_COLUMNS = 100
FIRST_AFTER_S = 1.0  # a notebook keeps what is shown; a run that is over sooner needs no progress
LOG_LINE = re.compile(r"orrery:\s+\d+ %  ")


def screen(wanted=None):
    """The one that suits where we are. False: nothing is shown; True, None: progress is."""
    if wanted is False:
        return Quiet()
    if in_notebook():
        return Notebook()
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else Log()


def in_notebook():
    """Whether there is a front end that shows what the display handle is told."""
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell else None
    return shell is not None and hasattr(shell, "kernel")


class Quiet:
    """Shows nothing."""

    words = ("--quiet",)
    environment = {}

    def open(self):
        """Two ends: ours to read from, the command's to write to."""
        return os.pipe()

    def is_progress(self, line):
        return False

    def show(self, line):
        """The line of progress, or blanks that end it."""

    def echo(self, line):
        """A line that is for the user at once."""
        if sys.stderr is not None:
            print(line, file=sys.stderr, flush=True)

    def finish(self):
        """When the command has ended."""


class Log(Quiet):
    words = ()

    def is_progress(self, line):
        return LOG_LINE.match(line) is not None

    def show(self, line):
        self.echo(line)


class Terminal(Quiet):
    words = ()
    def __init__(self):
        self._shown = ""

    @property
    def environment(self):
        kind = os.environ.get("TERM", "")
        return {"TERM": "xterm" if kind in ("", "dumb") else kind, "NO_COLOR": "1"}

    def columns(self):
        try:
            return os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def open(self):
        ours, theirs = pty.openpty()
        modes = termios.tcgetattr(theirs)
        modes[1] &= ~termios.OPOST  # line ends arrive as they were written
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self.columns(), 0, 0))
        return ours, theirs

    def show(self, line):
        sys.stderr.write("\r" + line)
        sys.stderr.flush()
        self._shown = line

    def echo(self, line):
        self.finish()
        super().echo(line)

    def finish(self):
        if self._shown.strip():
            self.show(" " * len(self._shown))
        if self._shown:
            sys.stderr.write("\r")
            sys.stderr.flush()
        self._shown = ""


class Notebook(Terminal):
    """The handle belongs to the cell that runs; at the end its line is empty."""

    def __init__(self):
        super().__init__()
        self._handle, self._begin = None, time.monotonic()

    def columns(self):
        return NOTEBOOK_COLUMNS

    def show(self, line):
        data = {"text/plain": line.rstrip()}
        if self._handle is not None:
            self._handle.update(data, raw=True)
        elif line.strip() and time.monotonic() - self._begin >= FIRST_AFTER_S:
            from IPython.display import display
            self._handle = display(data, raw=True, display_id=True)

    def finish(self):
        self.show("")
