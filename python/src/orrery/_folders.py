# SPDX-License-Identifier: Apache-2.0
"""Results of earlier runs and studies, whoever started them."""

import pathlib

from ._errors import UsageError
from ._run import Run
from ._study import Study


def load(folder):
    """The Run or the Study in a folder of `orrery run --out` or `orrery sweep --out`."""
    folder = pathlib.Path(folder)
    if (folder / "study.json").exists():
        return Study(folder)
    if (folder / "report.json").exists():
        return Run(folder)
    if not folder.is_dir():
        raise UsageError(f"there is no folder '{folder}'")
    if (folder / "plan.json").exists():
        raise UsageError(f"the study in '{folder}' is not finished; what has begun it goes on")
    if (folder / "compare.json").exists():
        raise UsageError(f"'{folder}' holds a comparison of engines; read its compare.json")
    raise UsageError(f"'{folder}' holds no finished run or study: there is neither report.json nor "
                     "study.json, which are written last")
