#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/gallery.md and its pictures: runs each command of the page, draws what it left, and
fills the figures of the run into the text, so that nothing on the page can be out of date.

Usage: gallery.py [NAME ...] [--check] [--command PATH] [--into FOLDER] [--scratch FOLDER]

  NAME            only these; the page keeps the others as they are
  --check         makes nothing: fails if the page is not the one that this script makes (figures
                  aside), or if a picture is missing
  --command PATH  the orrery command (default: build/release/bin/orrery)
  --into FOLDER   where the page and its folder of pictures go (default: docs)
  --scratch FOLDER
                  where runs leave their output (default: results/gallery)

The laboratory needs its kernel (./dev lab).
"""
import argparse
import dataclasses
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN = pathlib.Path("results/gallery")
FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
HEAD = """# Gallery

What models and engines look like. Each picture was made by the commands above it, and the page by
`./dev gallery`, which runs them all.
"""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A picture of the page. OUT in a command is the folder of its run, in which the picture lies
    then; {name} in the text is a result, a statistic or a fact of the run."""
    name: str
    heading: str
    commands: tuple
    picture: str
    sees: str

    def words(self, command, scratch=SHOWN):
        return [re.sub(r"\bOUT\b", str(scratch / self.name), word) for word in shlex.split(command)]


MODELS = [
    Entry("traffic", "[Traffic](../models/traffic/README.md): a working day in Sioux Falls",
          ("orrery run traffic --config models/traffic/scenarios/sioux-falls-day.ini --out OUT",
           "models/traffic/plot_course.py OUT"), "course.png",
          "2.2 million vehicles in {committed:,} events. In the rush hours queues form and drivers "
          "who hear of them turn aside; the speed of all falls and comes back when the queues are "
          "gone."),
    Entry("wireless", "[Wireless](../models/wireless/README.md): a mesh with hidden stations",
          ("orrery run wireless --config models/wireless/scenarios/mesh.ini --out OUT",
           "models/wireless/plot.py OUT"), "mesh.png",
          "Links to the gateways carry most (wide), and where stations do not hear each other "
          "transmissions are lost (dark): {loss_ratio:.0%} of them, of which repetitions make good "
          "nearly all; {delivery_ratio:.1%} of packets arrive."),
    Entry("pcs", "[PCS](../models/pcs/README.md): a town's mobile telephones in the busy hour",
          ("orrery run pcs --config models/pcs/scenarios/town.ini --out OUT",
           "models/pcs/plot.py OUT"), "cells.png",
          "Each hexagon is a cell. Mobiles do not leave the town: cells at its border have fewer "
          "neighbours and get fewer hand-offs, those next to them more than their share. Over all "
          "{blocking_probability:.1%} of new calls find no channel."),
    Entry("epidemic", "[Epidemic](../models/epidemic/README.md): influenza from one corner",
          ("orrery run epidemic --config models/epidemic/scenarios/influenza.ini --out OUT",
           "models/epidemic/plot.py OUT"), "curves.png",
          "The disease begins in one region of 16 and comes to the others with those who travel; "
          "{attack_rate:.0%} of the people are infected in the end."),
    Entry("phold", "[PHOLD](../models/phold/README.md): the benchmark, seen as what it is",
          ("orrery run phold --until 6s --set lps=8 remote=0.5 --out OUT --trace OUT.pftrace",
           "tools/plot_trace.py OUT.pftrace --lps --output OUT/causes.png"), "causes.png",
          "Eight LPs for six seconds of simulated time: each of the {committed} events sends one "
          "other, to the LP itself or to one at random. From a [trace](trace.md)."),
    Entry("lab", "[Laboratory](../models/lab/README.md): three real Linux hosts",
          ("orrery run lab --set topology=models/lab/topologies/three-hosts.toml --out OUT",
           "models/lab/plot.py OUT --from 0.99 --to 1.07 --output OUT/sequence.png"),
          "sequence.png",
          "One host asks another one for an echo, through a third: each arrow is an Ethernet frame "
          "of an unmodified kernel, at its exact virtual time."),
    Entry("null", "[Null](../models/null/README.md): nothing but the engine",
          ("orrery run null --set events=100 --engine expanded --workers 2 --expanded-mode batched "
           "--out OUT --trace OUT.pftrace",
           "tools/plot_trace.py OUT.pftrace --from 30% --to 33% --output OUT/trace.png"),
          "trace.png",
          "Modules that do nothing but send themselves the next event: all that there is to see is "
          "what the expanded engine takes to give events to another worker, in batches, and to "
          "hear of their end."),
]

PHOLD = ("orrery run phold --engine {} --workers 2 --until 30s --set lps=64 remote=0.9 work=20000 "
         "lookahead=50ms --out OUT --trace OUT.pftrace")
PART = "tools/plot_trace.py OUT.pftrace --from {} --to {} --output OUT/trace.png"

ENGINES = [
    Entry("sequential", "[Sequential](engines/sequential.md): one event after the other",
          (PHOLD.format("sequential").replace(" --workers 2", ""), PART.format("60%", "62%")),
          "trace.png",
          "PHOLD with 64 LPs, nearly all events to others, and 20 us of work in each. What lies "
          "between two events is taking the next one out of those that are pending."),
    Entry("conservative", "[Conservative](engines/conservative.md): never too early",
          (PHOLD.format("conservative"), PART.format("60%", "63%")),
          "trace.png",
          "The same run. Nothing is undone: both workers execute the events of a window of time, "
          "which is as long as the lookahead, and then meet. The worker that is first waits for the "
          "other."),
    Entry("timewarp", "[Time Warp](engines/timewarp.md): ahead, and sometimes back",
          ("orrery run phold --engine timewarp --workers 2 --until 100s --set lps=16 remote=1 "
           "work=20000 --out OUT --trace OUT.pftrace", PART.format("50%", "58%")), "trace.png",
          "PHOLD with 16 LPs, all events to others and no lookahead at all, where the conservative "
          "engine has nothing to go by. {efficiency:.0%} of what was executed was committed: a "
          "worker that gets an event for its past undoes what came later, and has it done again; "
          "rounds find GVT while events go on."),
    Entry("expanded", "[Expanded events](engines/expanded.md): what overlaps runs at once",
          ("orrery run wireless --engine expanded --expanded-mode batched --workers 2 --until 50ms "
           "--set stations=100 gateways=4 load=50 --out OUT --trace OUT.pftrace",
           PART.format("60%", "60.6%")), "trace.png",
          "A wireless mesh, whose events last for microseconds: what starts before the earliest of "
          "those in progress ends goes to the other worker, too."),
    Entry("auto", "[Auto](engines/auto.md): measures, and keeps what is best",
          (PHOLD.format("auto").replace("until 30s", "until 100s").replace("lps=64", "lps=256"),
           "tools/plot_trace.py OUT.pftrace --output OUT/trace.png"), "trace.png",
          "A larger one: the world goes from engine to engine until it is clear which one pays on "
          "this machine for this model."),
    Entry("checker", "[Checker](engines/checker.md): everything twice",
          ("orrery run phold --engine checker --until 6s --set lps=8 remote=0.5 --out OUT "
           "--trace OUT.pftrace",
           "tools/plot_trace.py OUT.pftrace --lps --output OUT/causes.png"), "causes.png",
          "PHOLD again, with each event executed, rolled back, compared and executed again. What it "
          "commits is what every engine commits, so this is the first picture of PHOLD, to the "
          "byte."),
]


def figures_of(folder):
    """What texts may name."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    figures = {name: one["value"] for name, one in report["results"].items()}
    figures |= {name: one["value"] for name, one in report["statistics"].items()}
    return figures | report["run"]


def filled(text, figures):
    return FIELD.sub(lambda field: format(figures[field[1]], field[2] or ""), text)


def section(entry, sees):
    commands = "\n".join(shlex.join(entry.words(command)) for command in entry.commands)
    title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", entry.heading)
    return (f"## {entry.heading}\n\n```sh\n{commands}\n```\n\n{sees}\n\n"
            f"![{title}](gallery/{entry.name}.png)\n")


def run(entry, arguments):
    """Runs the commands of an entry and takes its picture; the text of the page."""
    for one in entry.commands:
        words = entry.words(one, arguments.scratch)
        shown = shlex.join(words)
        print(f"-- {shown}", flush=True)
        if words[0] == "orrery":
            words = [str(arguments.command), *words[1:], "--quiet", "--force"]
        elif words[0].endswith(".py"):
            words = [sys.executable, *words]
        try:
            subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        except (subprocess.CalledProcessError, OSError) as error:
            sys.exit(f"gallery.py: '{shown}' failed: {error}")
    folder, target = arguments.scratch / entry.name, arguments.into / "gallery" / f"{entry.name}.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(folder / entry.picture, target)
    except OSError as error:
        sys.exit(f"gallery.py: the commands of '{entry.name}' left no picture: {error}")
    return filled(entry.sees, figures_of(folder))


def pattern_of(entry):
    """What the entry's section looks like, whatever its figures are."""
    parts = FIELD.split(section(entry, entry.sees))[::3]
    return r"\S+".join(map(re.escape, parts))


def old_section(entry, page):
    found = re.search(pattern_of(entry), page)
    return found and found[0]


def check(entries, page, folder):
    """Sentences of what is wrong."""
    wrong = [f"the section of '{entry.name}' is not what gallery.py makes" for entry in entries
             if not old_section(entry, page)]
    wrong += [f"there is no {folder / 'gallery' / entry.name}.png" for entry in entries
              if not (folder / "gallery" / f"{entry.name}.png").is_file()]
    whole = re.escape(HEAD + "\n") + "\n".join(map(pattern_of, entries))
    if not wrong and not re.fullmatch(whole, page):
        wrong.append("the page has something that gallery.py does not make")
    return wrong


def make(names, entries, page, arguments):
    sections = []
    for entry in entries:
        if names and entry.name not in names:
            sections.append(old_section(entry, page) or
                            sys.exit(f"gallery.py: the page has no section of '{entry.name}' to "
                                     "keep; make it, too"))
            continue
        sections.append(section(entry, run(entry, arguments)))
    (arguments.into / "gallery.md").write_text(HEAD + "\n" + "\n".join(sections), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--check", action="store_true", help="whether the page is up to date")
    parser.add_argument("--command", type=pathlib.Path, metavar="PATH",
                        default=ROOT / "build/release/bin/orrery", help="the orrery command")
    parser.add_argument("--into", type=pathlib.Path, metavar="FOLDER", default=ROOT / "docs",
                        help="where the page goes (default: docs)")
    parser.add_argument("--scratch", type=pathlib.Path, metavar="FOLDER", default=ROOT / SHOWN,
                        help="where runs leave their output (default: results/gallery)")
    arguments = parser.parse_args()
    arguments.scratch, arguments.command = arguments.scratch.resolve(), arguments.command.resolve()
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    entries = [*MODELS, *ENGINES]
    known = [entry.name for entry in entries]
    for name in set(arguments.names) - set(known):
        sys.exit(f"gallery.py: there is no '{name}'; there are {', '.join(known)}")
    path = arguments.into / "gallery.md"
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not arguments.check:
        return make(arguments.names, entries, page, arguments)
    wrong = check(entries, page, arguments.into)
    for sentence in wrong:
        print(f"gallery.py: {sentence}; run ./dev gallery", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
