# SPDX-License-Identifier: Apache-2.0
"""The tables that a run left in its output folder, for the plots of the models.

A plot of ours ends with a sentence where a table is not there or not what it should be: it is run by
people who look for a picture, not for a traceback.
"""
import csv
import os
import sys

import numpy as np


def read_table(folder, name, wanted, model, optional=()):
    """{column: array of floats} of OUT/NAME.csv: the columns `wanted`, and those of `optional` that
    it has. The arrays are empty if it has no rows."""
    path = os.path.join(folder, name + ".csv")
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        sys.exit(f"plot.py: cannot read {path}: {error.strerror}; is {str(folder)!r} the output folder "
                 f"(--out) of a finished run of the {model} model?")
    missing = [column for column in wanted if rows and column not in rows[0]]
    if missing:
        sys.exit(f"plot.py: {path} has no column {', '.join(missing)}; it has {', '.join(rows[0])}")
    columns = [*wanted, *(column for column in optional if rows and column in rows[0])]
    try:
        return {column: np.array([float(row[column]) for row in rows]) for column in columns}
    except (TypeError, ValueError) as error:
        sys.exit(f"plot.py: {path} is not a table of numbers: {error}")
