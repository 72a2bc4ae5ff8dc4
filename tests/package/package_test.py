#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian package of a build, unpacks it into a folder and uses what lies there, without the
repository and without root. Needs BUILD (the folder of the build) and VERSION in the environment;
ctest sets them. What a machine has no tools for is skipped, with the name of the package that it
lacks."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
VERSION = os.environ["VERSION"]
PATIENCE_S = 300
# What the public headers offer most models, in a few lines: a parameter, a metric, an LP, random times.
MODEL = """
#include <memory>
#include <orrery/orrery.h>
namespace {
struct Beat {};
class Clock final : public orrery::Model {
 public:
  orrery::Parameter<double> mean{*this, "mean", 1.0, {.help = "seconds between beats"}};
  orrery::Parameter<std::string> mood{*this, "mood", "calm", {.help = "of no use",
                                                              .choices = {"calm", "cross"}}};
  orrery::Metric gap{*this, "gap", "s", "between two beats"};
  std::uint64_t lp_count() const override { return 4; }
  std::unique_ptr<orrery::LogicalProcessBase> create(orrery::LpId id) const override;
  orrery::Time default_horizon() const override {
    return orrery::Time::zero() + orrery::Duration::seconds(100);
  }
};
class Hand final : public orrery::LogicalProcess<Hand, Beat> {
 public:
  explicit Hand(const Clock& clock) : clock_(clock) {}
  void start(orrery::Context& context) override { handle(context, {}); }
  void handle(orrery::Context& context, const Beat&) {
    const auto gap = context.random().exponential(orrery::Duration::from_seconds(clock_.mean));
    context.record(clock_.gap, gap.to_seconds());
    context.schedule(context.self(), gap, Beat{});
  }
 private:
  const Clock& clock_;
};
std::unique_ptr<orrery::LogicalProcessBase> Clock::create(orrery::LpId) const {
  return std::make_unique<Hand>(*this);
}
ORRERY_MODEL(Clock, "clock", "hands that beat");
}  // namespace
"""
LISTS = """
cmake_minimum_required(VERSION 3.25)
project(clock CXX)
find_package(orrery REQUIRED)
orrery_add_model(clock clock.cpp)
"""


def need(*programs):
    """Of a test: the programs that it cannot do without, each with its package."""
    missing = [f"{package} (for {program})" for program, package in programs
               if shutil.which(program) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def run(*words, **options):
    environment = {"PATH": f"{ROOT / 'usr/bin'}:/usr/bin:/bin", "HOME": str(HOME), "LANG": "C.UTF-8"}
    options.setdefault("env", environment)
    return subprocess.run([str(word) for word in words], cwd=HOME, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options)


def setUpModule():
    global FOLDER, ROOT, HOME, DEB
    for program in ["dpkg-deb", "dpkg-shlibdeps", "cpack", "gzip"]:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"there is no {program}; a package needs dpkg-dev, cmake and gzip")
    FOLDER = tempfile.TemporaryDirectory(prefix="orrery-package-")
    unittest.addModuleCleanup(FOLDER.cleanup)
    folder = pathlib.Path(FOLDER.name)
    ROOT, HOME = folder / "root", folder / "home"
    HOME.mkdir()
    # It may be put together in any way here: packing well takes its time.
    done = subprocess.run(["cpack", "--config", str(BUILD / "CPackConfig.cmake"), "-B", str(folder / "deb"),
                           "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip"],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (DEB,) = (folder / "deb").glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", str(DEB), str(ROOT)], check=True)


class Case(unittest.TestCase):
    def run_ok(self, *words, **options):
        done = run(*words, **options)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout


class Contents(Case):
    def field(self, name):
        return self.run_ok("dpkg-deb", "-f", DEB, name).strip()

    def test_what_it_says_of_itself(self):
        self.assertRegex(DEB.name, rf"\Aorrery_{re.escape(VERSION)}-1_\w+\.deb\Z")
        self.assertEqual(self.field("Package"), "orrery")
        self.assertEqual(self.field("Version"), f"{VERSION}-1")
        self.assertEqual(self.field("Section"), "science")
        self.assertTrue(self.field("Maintainer").startswith("The Orrery authors"))
        for library in ["libc6", "libstdc++6", "libfmt", "libhwloc", "libsqlite3"]:
            self.assertRegex(self.field("Depends"), rf"\b{re.escape(library)}")
        self.assertIn("g++", self.field("Recommends"))
        for optional in ["mpi", "microhttpd", "g++", "cmake"]:
            self.assertNotIn(optional, self.field("Depends"))

    def test_files_are_where_debian_has_them(self):
        for name in ["bin/orrery", "include/orrery/orrery.h", "lib/cmake/orrery/orrery-config.cmake",
                     "share/orrery/models/traffic/sioux-falls_net.tntp",
                     "share/orrery/models/traffic/scenarios/sioux-falls.ini",
                     "share/orrery/report.schema.json", "share/orrery/tools/plot_trace.py",
                     "share/orrery/tools/trace_packets.py",
                     "share/man/man1/orrery.1.gz", "share/man/man1/orrery-run.1.gz",
                     "share/bash-completion/completions/orrery",
                     "share/zsh/vendor-completions/_orrery", "share/doc/orrery/copyright",
                     "share/doc/orrery/changelog.gz", "share/doc/orrery/changelog.Debian.gz"]:
            self.assertTrue((ROOT / "usr" / name).is_file(), name)
        self.assertEqual([path.name for path in ROOT.iterdir()], ["usr"])

    def test_plugins_are_those_of_the_build(self):
        there = {path.name for path in (ROOT / "usr/lib/orrery").glob("*.so")}
        self.assertEqual(there, {path.name for path in (BUILD / "bin").glob("orrery-*.so")})
        self.assertEqual("mpi" in self.field("Suggests"), any("mpi" in name for name in there - {"orrery-llf-mpi.so"}))  # a stub
        self.assertEqual("microhttpd" in self.field("Recommends"), "orrery-live.so" in there)

    def test_nothing_tells_where_it_was_built(self):
        for path in (ROOT / "usr").rglob("*"):
            if path.is_file() and path.suffix in [".cmake", ".1", ""] and path.name != "orrery":
                self.assertNotIn(str(BUILD.parent.parent).encode(), path.read_bytes(), path)


class Use(Case):
    def test_models_and_engines(self):
        listed = json.loads(self.run_ok("orrery", "list", "--json"))
        self.assertEqual(listed["orrery"]["version"], VERSION)
        self.assertIn("remote", self.run_ok("orrery", "describe", "phold"))

    def test_a_run_finds_its_data(self):
        report = json.loads(self.run_ok("orrery", "run", "traffic", "--until", "2min", "--set",
                                        "demand=0.1", "--json", "--quiet"))
        self.assertTrue(report["complete"])
        self.assertGreater(report["run"]["committed"], 0)

    @need(("g++", "g++"), ("cmake", "cmake"), ("make", "make"))
    def test_a_model_of_ones_own(self):
        (HOME / "clock").mkdir()
        (HOME / "clock/clock.cpp").write_text(MODEL)
        (HOME / "clock/CMakeLists.txt").write_text(LISTS)
        self.run_ok("cmake", "-S", "clock", "-B", "clock/build", "-G", "Unix Makefiles")
        self.run_ok("cmake", "--build", "clock/build")
        found = (HOME / "clock/build/CMakeCache.txt").read_text()
        self.assertIn(f"orrery_DIR:PATH={ROOT}/usr/lib/cmake/orrery\n", found)
        prints = {json.loads(self.run_ok("orrery", "run", "./clock/build/clock.so", "--engine", engine,
                                         "--set", "mean=0.5", "--json", "--quiet"))["run"]["fingerprint"]
                  for engine in ["sequential", "timewarp"]}
        self.assertEqual(len(prints), 1)
        told = self.run_ok("orrery", "complete", "--", "run", "./clock/build/clock.so", "--set", "mood=")
        self.assertIn("mood=cross", told)


class Manual(Case):
    def pages(self):
        return sorted((ROOT / "usr/share/man/man1").glob("*.1.gz"))

    def test_there_is_one_for_each_program_and_command(self):
        names = {path.name.removesuffix(".1.gz") for path in self.pages()}
        programs = {path.name for path in (ROOT / "usr/bin").iterdir()}
        commands = {line.split("\t")[1] for line in
                    self.run_ok("orrery", "complete", "--", "").splitlines()}
        self.assertEqual(names, programs | {f"orrery-{name}" for name in commands})

    @need(("groff", "groff-base"))
    def test_they_are_without_mistakes(self):
        for path in self.pages():
            text = gzip.decompress(path.read_bytes()).decode()
            with self.subTest(page=path.name):
                done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-P-cbou"], input=text, text=True,
                                      capture_output=True, timeout=PATIENCE_S, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, r"(?m)^SEE ALSO$")
                # Names of programs and options are not parted at the ends of lines.
                self.assertEqual(done.stdout.count("\u2010"), 0)

    @need(("man", "man-db"))
    def test_man_shows_them(self):
        shown = self.run_ok("man", "--warnings", "-l", self.pages()[0])
        self.assertIn("SYNOPSIS", shown)


class Completion(Case):
    SCRIPT = "usr/share/bash-completion/completions/orrery"

    # Parts the line as readline does, and asks.
    ASK = r"""
      source "$1"
      COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDBREAKS=$' \t\n"\'><=;|&(:' COMP_WORDS=()
      rest=$COMP_LINE
      while [[ $rest =~ ^([ ]*)(=+|:+|[^=: ]+)(.*)$ ]]; do
        COMP_WORDS+=("${BASH_REMATCH[2]}") rest=${BASH_REMATCH[3]}
      done
      [[ $COMP_LINE != *' ' ]] || COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _orrery
      ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
    """

    def bash(self, line):
        return self.run_ok("bash", "-c", self.ASK, "bash", ROOT / self.SCRIPT, line).splitlines()

    @need(("bash", "bash"))
    def test_bash(self):
        self.assertIn("sweep", self.bash("orrery "))
        self.assertEqual(self.bash("orrery run pho"), ["phold"])
        self.assertEqual(self.bash("orrery run phold --eng"), ["--engine"])
        self.assertIn("timewarp", self.bash("orrery run phold --engine "))
        self.assertEqual(self.bash("orrery run phold --engine=se"), ["sequential"])
        self.assertIn("lps=", self.bash("orrery run phold --set "))
        self.assertEqual(self.bash("orrery run phold --set lps=8 rem"), ["remote="])
        self.assertEqual(self.bash("orrery run traffic --set routes=ad"), ["adaptive"])
        self.assertEqual(self.bash("orrery compare phold --engines sequential,ch"),
                         ["sequential,checker"])
        self.assertEqual(self.bash("orrery run phold --checkpoint per"), ["periodic:"])

    @need(("bash", "bash"))
    def test_files_in_bash(self):
        (HOME / "files/folder").mkdir(parents=True)
        for name in ["mine.so", "study.toml", "notes.txt"]:
            (HOME / "files" / name).touch()
        self.assertEqual(set(self.bash("orrery run files/")), {"files/folder", "files/mine.so"})
        self.assertEqual(set(self.bash("orrery sweep files/")),
                         {"files/folder", "files/mine.so", "files/study.toml"})
        self.assertEqual(self.bash("orrery run phold --out files/"), ["files/folder"])
        self.assertEqual(self.bash("orrery run --config files/st"), ["files/study.toml"])
        self.assertEqual(self.bash("orrery run --config=files/st"), ["files/study.toml"])
        self.assertEqual(self.bash("orrery run traffic --set net_file=files/no"), ["files/notes.txt"])

    # In place of zsh's own: what would be offered.
    ZSH = r"""
      compadd() { print -rl -- "compadd $*"; while [[ $1 != -a ]]; do shift; done; print -rl -- ${(P)2} }
      _files() { print -r -- "_files $*" }
      compset() { print -r -- "compset $*" }
      compdef() { }
      source $1
      words=("${(@)argv[2,-1]}") CURRENT=$#words PREFIX=$words[-1]
      _orrery
    """

    def zsh(self, *words):
        return self.run_ok("zsh", "-f", "-c", self.ZSH, "zsh", ROOT / "usr/share/zsh/vendor-completions/_orrery",
                           "orrery", *words).splitlines()

    @need(("zsh", "zsh"))
    def test_zsh(self):
        self.assertIn("sweep", self.zsh(""))
        self.assertIn("phold", self.zsh("run", "ph"))
        self.assertIn("_files -g *.so", self.zsh("run", "ph"))
        self.assertIn("remote=", self.zsh("run", "phold", "--set", "re"))
        self.assertIn("compadd -l -S  -d parts_shown -a parts", self.zsh("run", "phold", "--set", "re"))
        self.assertIn("--engine=checker", self.zsh("run", "phold", "--engine=c"))
        self.assertEqual(self.zsh("run", "phold", "--out", ""), ["_files -/"])
        self.assertEqual(self.zsh("run", "phold", "--config="), ["compset -P --config=", "_files -g *"])


if __name__ == "__main__":
    unittest.main()
