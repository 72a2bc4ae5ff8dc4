# SPDX-License-Identifier: Apache-2.0
"""Orrery from Python: `run` a model, `sweep` over its parameters, `load` what an earlier run or
study has left; results are pandas DataFrames. docs/python.md in the repository describes all."""

from ._command import VERSION as __version__
from ._command import command
from ._describe import Description, describe, engines, models, options
from ._errors import (CommandNotFound, InternalError, Interrupted, ModelCrash, ModelFault,
                      OrreryError, SystemFailure, UnknownName, UsageError)
from ._folders import load
from ._run import Run, run
from ._study import Study, sweep

__all__ = ["CommandNotFound", "Description", "InternalError", "Interrupted", "ModelCrash",
           "ModelFault", "OrreryError", "Run", "Study", "SystemFailure", "UnknownName",
           "UsageError", "command", "describe", "engines", "load", "models", "options", "run",
           "sweep"]

for _name in __all__:
    globals()[_name].__module__ = __name__
