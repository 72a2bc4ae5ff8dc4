// SPDX-License-Identifier: Apache-2.0
//
// any_of, all_of and containers by small cases on every engine: which part ends a group, what becomes
// of the others, and what an interrupted group gives back.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <variant>

#include "run/process_stage.h"

namespace orrery::testing {
namespace {

class ProcessGroups : public ProcessSemantics {};

/// Does something after a time.
Process after(Stage& stage, std::int64_t time, void (*action)(Stage&)) {
  co_await delay(ticks(time));
  action(stage);
}
Process holds(Stage& stage, std::int64_t time) {
  const Server server = co_await stage.servers.acquire();
  co_await delay(ticks(time));
}
void note_index(Stage& stage, std::size_t index) {
  stage.note(static_cast<char>('0' + index));
}

// ---- The first ---------------------------------------------------------------------------------

Process waits_for_any(Stage& stage) {
  for (;;) {
    const auto got = co_await any_of(stage.servers.acquire(), stage.mailbox.receive(),
                                     stage.signal.wait(), delay(ticks(50)));
    note_index(stage, got.index());
    if (got.index() == 0) {
      EXPECT_TRUE(std::get<0>(got));
      co_await delay(ticks(5));
      continue;
    }
    if (got.index() == 1) stage.note(std::get<1>(got)[0]);
    if (got.index() == 3) co_return;
    if (stage.servers.is_free()) co_await delay(ticks(1));
  }
}

TEST_P(ProcessGroups, TheFirstEndsThem) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(holds(stage, 30));
              stage.spawn(waits_for_any(stage));
              stage.spawn(after(stage, 10, [](Stage& here) { here.mailbox.put("m"); }));
              stage.spawn(after(stage, 20, [](Stage& here) { here.signal.notify_all(); }));
              stage.spawn(after(stage, 32, [](Stage& here) { here.spawn(holds(here, 500)); }));
            }),
            "110 m10 220 030 385");  // holds the server from 30 to 35, then 50 ticks pass
}

Process withdraws(Stage& stage) {
  const auto got = co_await any_of(stage.servers.acquire(), stage.mailbox.receive_for(ticks(70)),
                                   stage.signal.wait_for(ticks(20)));
  note_index(stage, got.index());
  EXPECT_FALSE(std::get<2>(got));  // its own limit has ended it
  EXPECT_EQ(stage.servers.waiting(), 0u);
  EXPECT_FALSE(stage.mailbox.is_awaited());
  EXPECT_FALSE(stage.signal.is_awaited());
}

TEST_P(ProcessGroups, TheOthersAreWithdrawn) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(holds(stage, 100));
              stage.spawn(withdraws(stage));
              stage.spawn(after(stage, 30, [](Stage& here) {
                here.signal.notify_all();
                here.mailbox.put("x");
                EXPECT_EQ(here.mailbox.size(), 1u);
              }));
            }),
            "220");
}

Process at_once(Stage& stage) {
  stage.mailbox.put("m");
  const auto got =
      co_await any_of(stage.signal.wait(), stage.mailbox.receive(), stage.servers.acquire());
  note_index(stage, got.index());
  EXPECT_FALSE(stage.signal.is_awaited());
  EXPECT_EQ(stage.servers.busy(), 0u);
  co_await delay(ticks(3));
  stage.note('e');
}

TEST_P(ProcessGroups, WhatIsThereNeedsNoWait) {
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(at_once(stage)); }), "10 e3");
}

Process same_time(Stage& stage) {
  const auto got = co_await any_of(stage.signal.wait(), delay(ticks(10)), delay(ticks(10)));
  note_index(stage, got.index());
  co_await delay(ticks(20));  // no timer of the group is left
  stage.note('e');
}

TEST_P(ProcessGroups, OfEqualTimesTheFirstInTheListIsTaken) {
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(same_time(stage)); }), "110 e30");
}

// ---- All ---------------------------------------------------------------------------------------

Process waits_for_all(Stage& stage) {
  const auto [server, value, pause] =
      co_await all_of(stage.servers.acquire(), stage.mailbox.receive(), delay(ticks(10)));
  EXPECT_TRUE(server);
  stage.note(value[0]);
  co_await delay(ticks(5));
}

TEST_P(ProcessGroups, TheLastEndsThem) {
  EXPECT_EQ(
      told([](Stage& stage) {
        stage.spawn(holds(stage, 7));
        stage.spawn(waits_for_all(stage));
        stage.spawn(after(stage, 8, [](Stage& here) { EXPECT_EQ(here.servers.busy(), 1u); }));
        stage.spawn(after(stage, 25, [](Stage& here) { here.mailbox.put("v"); }));
        stage.spawn(after(stage, 31, [](Stage& here) { EXPECT_TRUE(here.servers.is_free()); }));
      }),
      "v25");
}

Process two_clocks(Stage& stage) {
  co_await all_of(delay(ticks(10)), delay(ticks(10)), all_of(delay(ticks(4)), delay(ticks(12))));
  stage.note('a');
  co_await any_of(all_of(delay(ticks(5)), stage.signal.wait()), delay(ticks(8)));
  stage.note('b');
}

TEST_P(ProcessGroups, AreParts) {
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(two_clocks(stage)); }), "a12 b20");
}

/// Holds the server, a value and an amount, and waits for the signal.
Process holds_all(Stage& stage) {
  try {
    co_await all_of(stage.servers.acquire(), stage.mailbox.receive(), stage.tank.get(3),
                    stage.signal.wait());
  } catch (const Interrupted&) {
    stage.note('i');
  }
}

TEST_P(ProcessGroups, GiveBackWhatTheyHeldWhereTheyAreInterrupted) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.mailbox.put("first");
              stage.mailbox.put("second");
              stage.other = stage.spawn(holds_all(stage));
              stage.spawn(after(stage, 5, [](Stage& here) {
                EXPECT_EQ(here.servers.busy(), 1u);
                EXPECT_EQ(here.tank.level(), 1);
                here.interrupt(here.other);
                EXPECT_TRUE(here.servers.is_free());
                EXPECT_EQ(here.tank.level(), 4);
                EXPECT_FALSE(here.signal.is_awaited());
                EXPECT_EQ(here.mailbox.try_receive(), "first");
              }));
            }),
            "i5");
}

// ---- Containers --------------------------------------------------------------------------------

Process takes(Stage& stage, char letter, std::int64_t amount) {
  co_await stage.tank.get(amount);
  stage.note(letter);
}
Process adds(Stage& stage, char letter, std::int64_t amount) {
  co_await stage.tank.put(amount);
  stage.note(letter);
}

/// The tank holds 4 of 10.
TEST_P(ProcessGroups, AmountsGoToThoseWhoWaitInTheirOrder) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(takes(stage, 'a', 6));
              stage.spawn(takes(stage, 'b', 1));  // enough is there, but a came before
              stage.spawn(after(stage, 5, [](Stage& here) { here.spawn(adds(here, 'c', 2)); }));
              stage.spawn(after(stage, 9, [](Stage& here) {
                EXPECT_EQ(here.tank.level(), 0);
                for (const char letter : {'d', 'e', 'f'}) here.spawn(adds(here, letter, 5));
              }));
              stage.spawn(after(stage, 12, [](Stage& here) {
                EXPECT_EQ(here.tank.level(), 9);
                here.spawn(takes(here, 'g', 9));
              }));
            }),
            "c5 a5 d9 e9 b9 g12 f12");
}

Process impatient(Stage& stage) {
  const bool got = co_await stage.tank.get_for(ticks(20), 9);
  stage.note(got ? 'y' : 'n');
}

TEST_P(ProcessGroups, WhoGivesUpLetsTheNextOneTake) {
  EXPECT_EQ(told([](Stage& stage) {
              stage.spawn(impatient(stage));
              stage.spawn(takes(stage, 'b', 2));
            }),
            "b20 n20");
}

TEST_P(ProcessGroups, RefuseAmountsThatNeverFit) {
  expect_fault([](Stage& stage) { stage.spawn(takes(stage, 'a', 11)); },
               "an amount of 11 is not from 1 to the capacity of 10");
  expect_fault([](Stage& stage) { stage.spawn(adds(stage, 'a', 0)); },
               "an amount of 0 is not from 1 to the capacity of 10");
}

// ---- Servers without a name --------------------------------------------------------------------

Process unnamed(Stage& stage) {
  co_await stage.servers.acquire();
  co_await delay(ticks(1));
}
Process in_a_group(Stage& stage) {
  co_await any_of(stage.servers.acquire(), delay(ticks(5)));
  co_await delay(ticks(1));
}
Process again(Stage& stage) {
  Server server = co_await stage.servers.acquire();
  co_await delay(ticks(1));
  server.release();
  server = co_await stage.servers.acquire();
  co_await delay(ticks(1));
  stage.note('s');
}
Process keeps(Stage& stage, Server server) {
  co_await delay(ticks(1));
  if (server) stage.note('k');
}
Process hands_on(Stage& stage) {
  co_await keeps(stage, co_await stage.servers.acquire());
  stage.note('h');
}

TEST_P(ProcessGroups, ServersHaveNames) {
  const std::string sentence = "give the Server a name";
  expect_fault([](Stage& stage) { stage.spawn(unnamed(stage)); }, sentence);
  expect_fault([](Stage& stage) { stage.spawn(in_a_group(stage)); }, sentence);
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(again(stage)); }), "s2");
  EXPECT_EQ(told([](Stage& stage) { stage.spawn(hands_on(stage)); }), "k1 h1");
}

ORRERY_ON_EVERY_ENGINE(ProcessGroups);

}  // namespace
}  // namespace orrery::testing
