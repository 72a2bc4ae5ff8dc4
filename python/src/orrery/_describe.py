# SPDX-License-Identifier: Apache-2.0
"""What there is: models, engines, options, and what can be set of a model and comes out of it."""

from . import _html as html, _words as words
from ._command import description, listing
from ._frames import frame_of


def models():
    """Names and summaries of the models that the command has built in."""
    return frame_of(listing()["models"], ["summary"])


def engines():
    """Names and summaries of the engines."""
    return frame_of(listing()["engines"], ["summary"])


def options():
    """Options that a run may have: type, default, help. Engines use what concerns them."""
    return frame_of(listing()["options"], ["type", "default", "help"])


def describe(model):
    """The parameters, metrics and tables of a model, given as in orrery.run; the options that
    an engine uses."""
    return Description(description(words.model_text(model)))


class Description:
    """`parameters`, `metrics`, `captures` and an engine's `options` are DataFrames, `tables` has
    one for the columns of each table."""

    def __init__(self, found):
        self.name, self.summary = found.get("model") or found["engine"], found["summary"]
        self.tick_seconds = found.get("tick_seconds")
        self.options = frame_of(found.get("options", {}), ["type", "default", "help"])
        self.parameters = frame_of(found.get("parameters", {}),
                                   ["type", "default", "unit", "range", "help"])
        self.metrics = frame_of(found.get("metrics", {}), ["unit", "help"])
        self.captures = frame_of(found.get("captures", {}), ["link_type", "help"])
        self.tables = {}
        for name, table in found.get("tables", {}).items():
            self.tables[name] = frame_of(table["columns"], ["type", "unit"])
            self.tables[name].attrs["help"] = table["help"]

    def __repr__(self):
        return f"<orrery.Description of {self.name}: {self.summary}>"

    def _repr_html_(self):
        return html.description_html(self)
