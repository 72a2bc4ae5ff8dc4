# SPDX-License-Identifier: Apache-2.0
"""How runs, studies and descriptions look in a notebook: a line on top, then tables."""

from html import escape

WIDEST = 80  # characters of a cell


def table(frame, columns, index=True):
    """Those columns that are there and say something, numbers with six digits."""
    shown = [column for column in columns
             if column in frame and (frame[column].astype(str) != "").any()]
    if frame.empty or not shown:
        return ""
    import pandas
    with pandas.option_context("display.max_colwidth", WIDEST):
        return frame[shown].rename_axis(index=None).to_html(
            border=0, index=index, na_rep="", max_rows=60,
            formatters={column: cell for column in shown if frame[column].dtype != "int64"})


def cell(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def head(title, text):
    return f"<div><b>{escape(title)}</b> {escape(text)}</div>"


def small(*lines):
    return "".join(f"<div><small>{escape(line)}</small></div>" for line in lines)


def common_figures(metrics):
    """The figures that the report names for every metric, in its order."""
    named = [metric.get("figures") or  # the schema before has no such list
             [name for name, value in metric.items() if isinstance(value, (int, float))]
             for metric in metrics.values()]
    return [name for name in named[0] if all(name in one for one in named)] if named else []


def run_html(run):
    facts = run.report["run"]
    shape = f"{facts['workers']} worker" + ("s" if facts["workers"] != 1 else "")
    if facts["ranks"] > 1:
        shape += f" on each of {facts['ranks']} ranks"
    text = (f"on {run.report['options']['engine']}, {shape}, seed {run.report['options']['seed']}: "
            f"{facts['committed']:,} events, {facts['reached']} simulated")
    if not run.complete:
        text += f" ({facts['end']})"
    timing = (f"{facts['seconds']['wall']:.3g} s, {facts['events_per_second'] or 0:.3g} events/s, "
              f"fingerprint {run.fingerprint}")
    parts = [head(run.model, text), small(timing),
             table(run.results, ["value", "unit", "help"]),
             table(run.metrics, [*common_figures(run.report["metrics"]), "unit"])]
    parts += [small(repr(some)) for some in [run.tables, run.series, run.lps, run.lp_series] if len(some)]
    parts.append(small(*[facts["fault"]] if "fault" in facts else [], *run.notes))
    return "".join(parts)


def study_html(study):
    runs = len(study.runs)
    points = len(study.points)
    text = (f"{points} point{'s' if points != 1 else ''}, {runs} run{'s' if runs != 1 else ''}; "
            f"intervals cover the mean with {100 * study.confidence:g} %")
    parts = [head(study.model, text)]
    shown = study.shown()
    for frame in [study.summary, study.comparison]:
        if frame is None:
            continue
        some = frame[frame["measure"].isin(shown)].reset_index(drop=True)
        parts.append(table(some, [column for column in some
                                  if column not in ("unit", "point", "low", "high", "confidence")],
                           index=False))
    if not study.failures.empty:
        parts.append(small(f"{len(study.failures)} runs failed, see .failures"))
    parts.append(small(*study.messages))
    return "".join(parts)


def description_html(description):
    parts = [head(description.name, description.summary),
             table(description.options, ["default", "type", "help"]),
             table(description.parameters, ["default", "unit", "type", "range", "help"]),
             table(description.metrics, ["unit", "help"])]
    for name, columns in description.tables.items():
        parts += [head(name, columns.attrs["help"]), table(columns, ["type", "unit"])]
    return "".join(parts)
