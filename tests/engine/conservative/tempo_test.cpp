// SPDX-License-Identifier: Apache-2.0
//
// When the conservative engine lets one worker go on alone, on simulated machines.
#include "engine/conservative/tempo.h"

#include <gtest/gtest.h>

#include <functional>

namespace orrery::conservative {
namespace {

struct Course {
  double events = 0, in_place_seconds = 0, seconds = 0;
  std::uint64_t periods = 0;
};

/// `rate`: events a second at a moment, alone or not. Changing hands takes `switch_seconds`.
Course simulate(Tempo& tempo, double seconds, double switch_seconds,
                const std::function<double(bool in_place, double now)>& rate) {
  Course course;
  bool in_place = tempo.next().in_place;
  while (course.seconds < seconds) {
    const Tempo::Period period = tempo.next();
    if (period.in_place != in_place) {
      course.seconds += switch_seconds;
      tempo.note_switch(switch_seconds);
    }
    in_place = period.in_place;
    const double events = rate(in_place, course.seconds) * period.seconds;
    course.events += events;
    course.seconds += period.seconds;
    course.in_place_seconds += in_place ? period.seconds : 0;
    ++course.periods;
    tempo.note(static_cast<std::uint64_t>(events), period.seconds);
  }
  return course;
}

TEST(Tempo, KeepsWhatIsFaster) {
  for (const double switch_seconds : {1e-4, 1e-2, 5e-2}) {
    Tempo together(true);
    const Course a = simulate(together, 5, switch_seconds,
                              [](bool in_place, double) { return in_place ? 1e7 : 1.6e7; });
    EXPECT_GT(a.events, 0.93 * 1.6e7 * a.seconds) << switch_seconds;
    EXPECT_EQ(together.changes(), 1u);
    Tempo alone(true);
    const Course b = simulate(alone, 5, switch_seconds,
                              [](bool in_place, double) { return in_place ? 1e7 : 3e6; });
    EXPECT_GT(b.events, 0.93 * 1e7 * b.seconds) << switch_seconds;
    EXPECT_EQ(alone.changes(), 0u);
  }
}

TEST(Tempo, LosesNothingInShortRuns) {
  for (const double seconds : {0.02, 0.05, 0.1, 0.3}) {
    Tempo tempo(true);
    const Course course =
        simulate(tempo, seconds, 1e-4, [](bool in_place, double) { return in_place ? 1e7 : 3e6; });
    EXPECT_GT(course.events, 0.77 * 1e7 * course.seconds) << seconds;
  }
}

TEST(Tempo, FollowsAModelThatChanges) {
  Tempo tempo(true);
  const Course course = simulate(tempo, 20, 1e-3, [](bool in_place, double now) {
    const bool dense = now > 5 && now < 12;
    return in_place ? 1e7 : dense ? 1.8e7 : 2e6;
  });
  EXPECT_GT(course.events, 0.85 * (7 * 1.8e7 + 13 * 1e7));
}

/// The first rates were those of cold caches: what is close is looked at again soon.
TEST(Tempo, FindsOutThatItWasWrong) {
  Tempo tempo(true);
  const Course course = simulate(tempo, 10, 5e-2, [](bool in_place, double now) {
    return in_place ? 3.6e6 : now < 0.3 ? 3e6 : 6.5e6;
  });
  EXPECT_GT(course.events, 0.8 * 6.5e6 * course.seconds);
}

TEST(Tempo, DoesNotChooseWhereAnotherEngineDoes) {
  Tempo tempo(false);
  const Course course =
      simulate(tempo, 5, 1e-3, [](bool in_place, double) { return in_place ? 1e7 : 1e5; });
  EXPECT_EQ(course.in_place_seconds, 0);
  EXPECT_GT(course.periods, 5u);  // so that loads are evened out
}

}  // namespace
}  // namespace orrery::conservative
