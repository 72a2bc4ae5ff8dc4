#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The usual mistakes of authors of models, each in the smallest model that makes it: the compiler
must say one error, and that in a sentence of ours. Needs CXX and INCLUDE in the environment; ctest
sets them."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

HEAD = """
#include <string>
#include "orrery/orrery.h"
using namespace orrery;
struct Tick { int number; };
struct Tock {};
struct Name { std::string text; };
"""
MODEL = """
struct M : Model {
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return std::make_unique<L>(); }
};
ORRERY_MODEL(M, "m", "a model");
"""
TICKS = "struct L : LogicalProcess<L, Tick> { void handle(Context& context, const Tick& tick) { %s } };"


def compiler(*words, **options):
    return subprocess.run([os.environ["CXX"], "-std=c++20", "-I", os.environ["INCLUDE"], *words],
                          text=True, capture_output=True, timeout=300,
                          env={**os.environ, "LC_ALL": "C"}, **options)


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """What all models include is compiled once."""
        folder = tempfile.TemporaryDirectory(prefix="orrery-mistakes-")
        cls.addClassCleanup(folder.cleanup)
        cls.head = pathlib.Path(folder.name) / "head.h"
        cls.head.write_text(HEAD)
        compiler("-x", "c++-header", str(cls.head), "-o", f"{cls.head}.gch", check=True)

    def errors(self, source):
        done = compiler("-fsyntax-only", "-include", str(self.head), "-x", "c++", "-",
                        input=source, check=False)
        return [line for line in done.stderr.splitlines() if re.search(r"\berror: ", line)]

    def one(self, sentence, source, model=MODEL):
        found = self.errors(source + model)
        self.assertEqual(len(found), 1, found)
        self.assertIn("static assertion failed: " + sentence, found[0])

    def test_none(self):
        found = self.errors(TICKS % "context.schedule(0, Duration::seconds(1), tick);" + MODEL)
        self.assertEqual(found, [])

    def test_event_with_a_string(self):
        self.one("an event type must be trivially copyable: its bytes are copied, so it cannot hold "
                 "a std::string",
                 """struct L : LogicalProcess<L, Tick, Name> {
                      void handle(Context&, const Tick&) {}
                      void handle(Context& context, const Name& name) {
                        context.schedule(0, Duration::seconds(1), name);
                      }
                    };""")
        self.one("an event type must be trivially copyable",
                 TICKS % 'context.schedule(0, Duration::seconds(tick.number), Name{"x"});')

    def test_event_that_is_no_struct(self):
        self.one("an event type is a struct",
                 TICKS % "context.schedule(0, Duration::seconds(1), tick.number);")

    def test_event_that_is_defined_later(self):
        self.one("define the event type before",
                 "struct P; struct L : LogicalProcess<L, P> { void handle(Context&, const P&) {} };")

    def test_missing_handler(self):
        sentence = "an event type in the list of this LP has no handler"
        self.one(sentence, "struct L : LogicalProcess<L, Tick, Tock> {"
                           "  void handle(Context&, const Tick&) {} };")
        self.one(sentence, "struct L : LogicalProcess<L, Tick> { void handle(const Tick&) {} };")
        self.one(sentence, "struct L : LogicalProcess<L, Tick> { void handle(Context&, Tick&) {} };")
        self.one(sentence, "class L : public LogicalProcess<L, Tick> {"
                           "  void handle(Context&, const Tick&) {} };")

    def test_list_of_events(self):
        self.one("list the event types",
                 "struct L : LogicalProcess<L> { void handle(Context&, const Tick&) {} };")
        self.one("the first argument of orrery::LogicalProcess is the LP's own class",
                 "struct K; struct L : LogicalProcess<K, Tick> { void handle(Context&, const Tick&) {} };"
                 "struct K {};")

    def test_wrong_arguments(self):
        sentence = "schedule(destination, delay, event): the destination is the number of an LP"
        self.one(sentence, TICKS % "context.schedule(0, 5, tick);")
        self.one(sentence, TICKS % "context.schedule(Duration::seconds(5), 0, tick);")
        self.one("a row holds numbers and texts",
                 "extern Table table;" + TICKS % "context.emit(table, tick.number, tick);")
        self.one("state() takes numbers",
                 """struct L : LogicalProcess<L, Tick> {
                      void handle(Context&, const Tick&) {}
                      void finish(FinalContext& context) override { context.state(name_); }
                      std::string name_;
                    };""")

    def test_model(self):
        self.one("a model overrides", "", "struct M : Model {}; ORRERY_MODEL(M, \"m\", \"\");")
        self.one("ORRERY_MODEL needs a class", "", "struct M {}; ORRERY_MODEL(M, \"m\", \"\");")
        self.one("a parameter is a std::int64_t", TICKS % "",
                 MODEL.replace("Model {", "Model { Parameter<int> lps{*this, \"lps\", 3, {}};"))

    def process(self, members, events="Tick"):
        return f"""#include "orrery/process.h"
                   struct L : ProcessLp<L, {events}> {{
                     void handle(const Tick& tick) {{ number = tick.number; }}
                     {members}
                     int number = 0;
                   }};"""

    def test_processes(self):
        found = self.errors(self.process(
            """struct Part { L& lp; Process run(int times) {
                 for (int i = 0; i < times; ++i) co_await delay(Duration::seconds(lp.number)); } };
               void begin() override { spawn(life(3)); }
               Process life(int times) { Part part{*this}; co_await part.run(times); }
               static Process of_any(const L& lp, const Model& model, L* other, int& count) {
                 co_await delay(Duration::seconds(lp.number)); }""") + MODEL)
        self.assertEqual(found, [])

    def test_waiting_in_a_catch_block(self):
        """What the guide quotes, and what it proposes instead."""
        process = self.process("void begin() override { spawn(repair()); } Process repair() { %s }")
        wait = "co_await delay(Duration::seconds(1));"
        found = self.errors(process % ("try { %s } catch (const Interrupted&) { %s }" % (wait, wait)) + MODEL)
        self.assertEqual(len(found), 1, found)
        self.assertIn("await expressions are not permitted in handlers", found[0])
        self.assertEqual(self.errors(process % (
            "bool broken = false; try { %s } catch (const Interrupted&) { broken = true; } "
            "if (broken) %s" % (wait, wait)) + MODEL), [])

    def test_processes_that_keep_what_will_be_gone(self):
        sentence = "a process takes its parameters by value"
        body = "{ co_await delay(Duration::seconds(number)); }"
        for parameter in ("const Tick&", "Tick&&", "std::span<const std::byte>", "const int&"):
            self.one(sentence, self.process(f"Process life({parameter}) {body}"))
        self.one(sentence, self.process(
            "void begin() override { spawn([this]() -> Process "
            "{ co_await delay(Duration::seconds(number)); }()); }"))
        for parameter in ("Context&", "Context*", "FinalContext&", "OutputContext&"):
            self.one("a process takes no context", self.process(f"Process life({parameter}) {body}"))

    def test_process_lps(self):
        self.one("an event type in the list of this LP has no handler: write 'public: void "
                 "handle(const E& event)'", self.process("", "Tick, Tock"))
        self.one("processes cannot be undone by reverse handlers",
                 self.process("void reverse(ReverseContext&, const Tick&) {}"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
