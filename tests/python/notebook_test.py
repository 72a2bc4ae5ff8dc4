#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Executes docs/notebook.ipynb with nbconvert against an installed command and fails if a cell fails
or prints something else than what is committed. HTML and pictures are not compared, they change with
the versions of pandas and matplotlib; nor are cells with the tag "varies", which show speeds.

Usage: notebook_test.py NOTEBOOK BUILD [--write]     with --write the notebook gets the new outputs
"""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import matplotlib  # noqa: F401
    import nbformat
    import pandas  # noqa: F401
    from nbconvert.preprocessors import ExecutePreprocessor
    import ipykernel  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}; apt-get install python3-nbconvert python3-ipykernel")
    sys.exit(0)

FIRST_LINES = """
%config InlineBackend.figure_formats = ["png"]
import matplotlib
matplotlib.rcParams.update({"figure.dpi": 72, "figure.figsize": (6.5, 3.5)})
"""


def execute(notebook, folder):
    """Runs all cells in the notebook's folder, after a cell of our own that is taken out again."""
    metadata = notebook.metadata.copy()
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST_LINES))
    runner = ExecutePreprocessor(timeout=600, kernel_name="python3", record_timing=False)
    runner.preprocess(notebook, {"metadata": {"path": folder}})
    del notebook.cells[0]
    notebook.metadata = metadata
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        cell.execution_count = number
        # A line of progress that is over is empty.
        cell.outputs = [output for output in cell.outputs
                        if output.output_type != "display_data" or any(output.data.values())]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number


def texts(cell):
    """What a cell prints, a picture by its kind."""
    found = []
    for output in cell.outputs:
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type == "display_data":
            found.append(sorted(output.data)[0])
        else:
            found.append(output.data["text/plain"])
    return found


def differences(before, after):
    for old, new in zip(before.cells, after.cells):
        if old.cell_type == "code" and "varies" not in old.metadata.get("tags", ()) and texts(old) != texts(new):
            yield f"the cell\n{old.source}\nhas given\n{texts(old)}\nand gives now\n{texts(new)}"


def main(path, build, write=""):
    path = pathlib.Path(path).resolve()
    before, after = [nbformat.read(path, as_version=4) for _ in range(2)]
    with tempfile.TemporaryDirectory(prefix="orrery-notebook-") as home:
        subprocess.run(["cmake", "--install", build, "--prefix", f"{home}/orrery"], check=True,
                       stdout=subprocess.DEVNULL)
        os.environ.update(ORRERY=f"{home}/orrery/bin/orrery", HOME=home, IPYTHONDIR=f"{home}/ipython",
                          TMPDIR=home, PYDEVD_DISABLE_FILE_VALIDATION="1",
                          PYTHONPATH=str(path.parents[1] / "python/src"))
        os.environ.pop("MPLBACKEND", None)  # pictures go into the notebook
        execute(after, str(path.parent))
        text = nbformat.writes(after)
        assert home not in text, "an output has a path of this machine"
    if write:
        path.write_text(text + "\n", encoding="utf-8")
        return
    different = list(differences(before, after))
    for one in different:
        print(one)
    assert not different, "the notebook's outputs are not those that are committed; --write renews them"


if __name__ == "__main__":
    main(*sys.argv[1:])
