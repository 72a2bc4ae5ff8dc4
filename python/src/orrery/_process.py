# SPDX-License-Identifier: Apache-2.0
"""One process of the command, from its start to its exit code.

It has a session of its own, so that Ctrl-C in a terminal and the interrupt button of a notebook,
which send their signal to all of a process group, reach it once and by us: the first SIGINT lets a
run end in order with a report of what it has committed, a second one ends it at once. And it ends
with this process, which is named in ORRERY_PARENT."""

import codecs
import contextlib
import os
import select
import signal
import subprocess
import tempfile
import threading

from ._command import command

OUTPUT_LIMIT = 1 << 20  # bytes of standard output that are kept
AFTERWARDS_S = 0.2  # for what is still on its way when the command has ended


class Done:
    """What it left behind: an exit code as a shell has it, all lines of standard error but those of
    progress, standard output, and how often it was interrupted by us."""

    def __init__(self, code, lines, output, interrupts):
        self.code, self.lines, self.output, self.interrupts = code, lines, output, interrupts


def call(words, screen):
    """Starts the command and waits for its end, whatever comes."""
    program = command()
    ours, theirs = screen.open()
    with tempfile.TemporaryFile() as output, Interrupts() as interrupts:
        try:
            process = _start([program, *words, *screen.words], output, theirs, screen.environment)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        interrupts.pass_to(process)
        lines = Lines(screen)
        try:
            _read_all(ours, process, lines)
        finally:
            if process.poll() is None:
                process.kill()
            os.close(ours)
            process.wait()
            screen.finish()
        output.seek(0)
        text = output.read(OUTPUT_LIMIT).decode(errors="replace")
    code = process.returncode
    return Done(code if code >= 0 else 128 - code, lines.end(), text, interrupts.count)


def _start(words, output, errors, environment):
    environment = {**os.environ, **environment, "ORRERY_PARENT": str(os.getpid())}
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                            env=environment, start_new_session=True)


def _read_all(descriptor, process, lines):
    poller = select.poll()  # select knows no descriptors from 1024 on
    poller.register(descriptor, select.POLLIN)
    while True:
        if not poller.poll(1000 * AFTERWARDS_S):
            # Somebody else may hold the other end: what a model started.
            if process.poll() is not None:
                return
            continue
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError:  # of a pty that nobody holds any more
            data = b""
        if not data:
            process.wait()
            return
        lines.feed(data)


class Lines:
    """Tells lines from what was drawn over with a carriage return."""

    def __init__(self, screen):
        self._screen, self._decoder = screen, codecs.getincrementaldecoder("utf-8")("replace")
        self._lines, self._rest, self._drawn = [], "", False

    def feed(self, data):
        text = self._rest + self._decoder.decode(data)
        while text:
            ends = [place for place in (text.find("\r"), text.find("\n")) if place >= 0]
            if not ends:
                break
            place = min(ends)
            if text[place] == "\n":
                self._line(text[:place])
                self._drawn = False
            else:
                if self._drawn or text[:place].strip():
                    self._screen.show(text[:place])
                self._drawn = True
            text = text[place + 1:]
        self._rest = text
        if self._drawn and text:
            self._screen.show(text)

    def _line(self, line):
        if self._screen.is_progress(line):
            self._screen.show(line)
            return
        if self._drawn and "orrery: " in line:
            line = line[line.index("orrery: "):]
        follows_sentence = self._lines and self._lines[-1].startswith(("orrery: ", "  "))
        is_detail = line.startswith("  ") and follows_sentence
        self._lines.append(line)
        # What the model prints, and what the command answers to a signal.
        if line.startswith("orrery: stopping") or not (line.startswith("orrery: ") or is_detail):
            self._screen.echo(line)

    def end(self):
        """All lines."""
        if self._rest.strip() and not self._drawn:
            self._line(self._rest)
            self._rest = ""
        return self._lines


class Interrupts(contextlib.AbstractContextManager):
    """Takes SIGINT meanwhile, counts and passes it on. Only the main thread can, and only it is
    interrupted; where SIGINT is ignored, it stays so."""

    def __init__(self):
        self.count, self._process, self._before = 0, None, None

    def __enter__(self):
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_):
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def pass_to(self, process):
        self._process = process
        for _ in range(self.count):
            process.send_signal(signal.SIGINT)

    def _take(self, *_):
        self.count += 1
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
