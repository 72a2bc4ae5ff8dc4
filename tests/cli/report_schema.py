# SPDX-License-Identifier: Apache-2.0
"""Validates reports of runs with the JSON Schema that is installed with the command."""

import json
import pathlib

try:
    import jsonschema  # package python3-jsonschema
except ImportError:
    jsonschema = None

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "src/output/report.schema.json"
MISSING = "the package python3-jsonschema is not installed, so reports are not validated"


def read(text):
    """The report in this text. Raises jsonschema.ValidationError if the schema refuses it."""
    report = json.loads(text)
    if jsonschema:
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(schema).validate(report)
    for metric in report["metrics"].values():  # a schema cannot say this
        assert metric["figures"].keys() <= metric.keys(), metric
    return report
