// SPDX-License-Identifier: Apache-2.0
//
// What the tests of protocols ask of the explorer, and how they say how much they ran.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "explore/explorer.h"
#include "sanitizers.h"

namespace orrery::explore {

/// Everything takes longer under the sanitizers, which look at the same code in fewer schedules.
constexpr unsigned affordable(unsigned deviations) {
  return deviations - (testing::kSanitizers ? 1 : 0);
}
/// All schedules there are, if every load gets the newest value.
inline Options all_schedules() {
  return {.deviations = testing::kSanitizers ? 4u : 60u, .old_values = false};
}

template <class S>
MakeScenario make() {
  return [] { return std::make_unique<S>(); };
}

inline void note_schedules(const std::string& name, const Outcome& outcome) {
  const std::string bound =
      outcome.exhaustive ? "all there are"
                         : "all with up to " + std::to_string(outcome.deviations) + " deviations";
  std::printf("[ explored ] %s: %llu schedules, %s\n", name.c_str(),
              static_cast<unsigned long long>(outcome.schedules),
              outcome.failure ? "the last of which fails" : bound.c_str());
  std::string property = name;  // an attribute in XML
  for (char& c : property)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  ::testing::Test::RecordProperty(property, std::to_string(outcome.schedules));
}

/// No schedule within the bound may fail.
inline void expect_holds(const std::string& name, const Options& options,
                         const MakeScenario& scenario) {
  const Outcome outcome = explore(options, scenario);
  note_schedules(name, outcome);
  EXPECT_FALSE(outcome.failure.has_value()) << outcome.failure->text();
  EXPECT_TRUE(outcome.failure || outcome.exhaustive || outcome.deviations == options.deviations)
      << "the bound was not reached within " << options.most_schedules << " schedules";
}

/// A planted error must be found, by a failure that contains `what` and can be replayed.
inline void expect_found(const std::string& name, Options options, const MakeScenario& scenario,
                         const std::string& what, Mutation mutation = {}) {
  options.mutation = std::move(mutation);
  const Outcome outcome = explore(options, scenario);
  note_schedules(name, outcome);
  ASSERT_TRUE(outcome.failure.has_value()) << name << " was not found";
  EXPECT_NE(outcome.failure->what.find(what), std::string::npos) << outcome.failure->text();
  const Outcome again = replay(options, scenario, outcome.failure->choices);
  ASSERT_TRUE(again.failure.has_value()) << "the schedule does not fail again";
  EXPECT_EQ(again.failure->text(), outcome.failure->text());
}

/// Every order above relaxed has a reason: with the operations of one kind and order on one kind of
/// atomic (S::kind_of) relaxed, some schedule fails. Returns how many such sites there are.
template <class S>
std::size_t expect_orders_needed(const std::string& name, Options options) {
  const auto site_of = [](const Operation& operation) {
    return S::kind_of(operation.atomic) + " " + name_of(operation.kind) + ", " +
           name_of(operation.order);
  };
  std::set<std::string> sites;
  Options first = options;
  first.deviations = 1;
  first.mutation = [&](Operation& operation) {
    if (operation.order != std::memory_order_relaxed) sites.insert(site_of(operation));
  };
  explore(first, make<S>());
  for (const std::string& site : sites) {
    expect_found(name + ", relaxed: " + site, options, make<S>(), "", [&](Operation& operation) {
      if (site_of(operation) == site) operation.order = std::memory_order_relaxed;
    });
  }
  return sites.size();
}

}  // namespace orrery::explore
