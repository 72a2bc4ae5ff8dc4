# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, by the command's exit codes. The text of an exception is the sentence that the
command says; `lines` holds all that it wrote to standard error, `result` what was committed until
then, as a Run or a Study, if the command left any."""


class OrreryError(Exception):
    """Of all of them but an interrupt."""

    def __init__(self, sentence, *, code=None, lines=(), result=None):
        super().__init__(sentence)
        self.code, self.lines, self.result = code, list(lines), result


class UsageError(OrreryError, ValueError):
    """A wrong name, value, input file or folder (exit code 2)."""


class UnknownName(UsageError, KeyError):
    """A table, result, measure or column that is not there."""

    def __str__(self):  # a KeyError shows its text in quotes
        return self.args[0]


class CommandNotFound(OrreryError):
    """There is no command to be started, or it is none of ours."""


class ModelFault(OrreryError, RuntimeError):
    """The model did what it must not do (exit code 3). In `result` is what was committed before."""


class ModelCrash(ModelFault):
    """Model code ended the process with a signal (exit code 128 + n)."""


class SystemFailure(OrreryError, RuntimeError):
    """There was no memory, no threads, or a rank died (exit code 4)."""


class InternalError(OrreryError, RuntimeError):
    """A mistake of Orrery's (any other exit code)."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or the command was told to end (exit codes 130 and 143). `result` holds what a
    run had committed, marked as not complete; None if there is nothing."""

    def __init__(self, sentence="", *, code=None, lines=(), result=None):
        super().__init__(sentence)
        self.code, self.lines, self.result = code, list(lines), result


_BY_CODE = {2: UsageError, 3: ModelFault, 4: SystemFailure, 130: Interrupted, 143: Interrupted}


def error_of(code, sentence, lines=(), result=None):
    """The exception for an exit code that is not 0."""
    kind = _BY_CODE.get(code) or (ModelCrash if 128 < code < 128 + 65 else InternalError)
    if not sentence:
        sentence = f"the command ended with exit code {code} and said nothing"
    return kind(sentence, code=code, lines=lines, result=result)
