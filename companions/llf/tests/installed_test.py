#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program in C that is built against what is installed, by pkg-config and a C compiler alone, with
the shared library and with the archive; and the loop that companions/llf/README.md shows, which has to compile. Needs
BUILD (the folder of the build) in the environment."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
PAGE = pathlib.Path(__file__).resolve().parents[1] / "README.md"
PATIENCE_S = 120
# What the page leaves to the simulator.
AROUND = """
#include <orrery/llf.h>
extern unsigned ranks;
extern llf_time time_of_message, time_of_next_event;
void die(const char *why), take_messages_out_of_the_queue(void), join_the_round(void);
void execute_one_event(void), put_message_into_the_queue_of(int rank);
int nothing_can_be_executed(void), over(void);
void simulate(void);
void simulate(void) {
%s
}
"""
PROGRAM = r"""
#include <orrery/llf.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  char group[64];
  llf_options options = {sizeof options, 1, 0, 0};
  llf_time gvt;
  int64_t in_transit;
  llf *self;
  snprintf(group, sizeof group, "installed.%d", (int)getpid());
  self = llf_join(group, "one", &options);
  if (self == NULL) {
    fprintf(stderr, "%s\n", llf_error());
    return 1;
  }
  if (llf_lvt(self, llf_time_of(2.5)) != 0 || llf_safe_point(self) != 0 ||
      llf_gvt(self, llf_time_of(2.5), 0, &gvt, &in_transit) != 0)
    return 2;
  printf("GVT %g\n", llf_double_of(gvt));
  if (llf_lvt(self, llf_time_of(1.5)) != LLF_ERROR) return 3;
  printf("%s\n", llf_error());
  return llf_leave(self);
}
"""


def tool_missing():
    return next((name for name in ["cc", "pkg-config", "cmake"] if shutil.which(name) is None), None)


@unittest.skipIf(tool_missing(), f"there is no {tool_missing()}")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="orrery-llf-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix = cls.root / "prefix"
        cls.run_ok("cmake", "--install", BUILD, "--prefix", cls.prefix)
        (cls.root / "program.c").write_text(PROGRAM)

    @classmethod
    def run_ok(cls, *words, **variables):
        done = subprocess.run([str(word) for word in words], cwd=cls.root, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, env={**os.environ, **variables})
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def flags(self, *words):
        return self.run_ok("pkg-config", *words, "orrery-llf",
                           PKG_CONFIG_PATH=str(self.prefix / "lib/pkgconfig")).split()

    def build(self, *words):
        self.run_ok("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-D_GNU_SOURCE",
                    "program.c", *words, "-o", "program")

    def expect(self, output):
        self.assertRegex(output, r"\AGVT 2\.5\nfederate 'one' of group 'installed\.")

    def test_with_the_shared_library(self):
        self.build(*self.flags("--cflags", "--libs"))
        needed = self.run_ok("readelf", "-d", "program")
        self.assertIn("liborrery-llf.so.1", needed)
        self.expect(self.run_ok("./program", LD_LIBRARY_PATH=str(self.prefix / "lib")))

    def test_the_shared_library_needs_no_library_of_cpp(self):
        needed = self.run_ok("readelf", "-d", self.prefix / "lib/liborrery-llf.so.1")
        self.assertNotIn("libstdc++", needed)

    def test_with_the_archive(self):
        self.build(*self.flags("--cflags"), self.prefix / "lib/liborrery-llf.a", "-pthread")
        self.expect(self.run_ok("./program"))

    def test_what_the_page_shows(self):
        shown = re.findall(r"(?ms)^```c\n(.*?)^```", PAGE.read_text())
        self.assertEqual(len(shown), 1)
        (self.root / "shown.c").write_text(AROUND % shown[0])
        self.run_ok("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                    *self.flags("--cflags"), "shown.c")

    def test_it_exports_what_the_header_declares(self):
        exported = {line.split()[-1].split("@")[0] for line in
                    self.run_ok("nm", "-D", "--defined-only",
                                self.prefix / "lib/liborrery-llf.so.1").splitlines() if " T " in line}
        header = (self.prefix / "include/orrery/llf.h").read_text()
        declared = set(re.findall(r"\b(llf_\w+)\(", header)) - {"llf_time_of", "llf_double_of"}
        self.assertEqual(exported, declared)


if __name__ == "__main__":
    unittest.main()
