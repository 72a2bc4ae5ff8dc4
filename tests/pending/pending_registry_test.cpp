// SPDX-License-Identifier: Apache-2.0
//
// The choice of a pending event set by name.
#include "pending/registry.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "pending/pending_test_support.h"

namespace orrery::pending {
namespace {

TEST(PendingRegistry, MakesEveryKindThatIsListed) {
  for (const PendingSetKind& kind : kPendingSets) {
    EXPECT_FALSE(kind.description.empty());
    const std::size_t size = with_pending_set<TestEvent>(kind.name, []<class Set>() {
      static_assert(PendingSet<Set, TestEvent>);
      TestEvent event;
      Set set;
      set.push(&event);
      return set.size();
    });
    EXPECT_EQ(size, 1u);
  }
}

TEST(PendingRegistry, NamesDifferentKinds) {
  const auto is_heap = []<class Set>() { return std::is_same_v<Set, DaryHeap<TestEvent>>; };
  EXPECT_TRUE(with_pending_set<TestEvent>("heap", is_heap));
  EXPECT_FALSE(with_pending_set<TestEvent>("radix", is_heap));
  EXPECT_FALSE(with_pending_set<TestEvent>("ladder", is_heap));
}

TEST(PendingRegistry, AutoIsTheDefault) {
  const auto is_radix = []<class Set>() { return std::is_same_v<Set, RadixHeap<TestEvent>>; };
  EXPECT_EQ(kDefaultPendingSet, "radix");
  EXPECT_TRUE(with_pending_set<TestEvent>("auto", is_radix));
}

TEST(PendingRegistry, RefusesOtherNamesWithASentence) {
  const auto refusal = [](std::string_view name) -> std::string {
    try {
      with_pending_set<TestEvent>(name, []<class Set>() {});
    } catch (const UsageError& refused) {
      return refused.what();
    }
    return "";
  };
  const std::string near = refusal("laddr");
  EXPECT_NE(near.find("'laddr'"), std::string::npos) << near;
  EXPECT_NE(near.find("did you mean 'ladder'"), std::string::npos) << near;
  const std::string far = refusal("zzzzzzzzz");
  EXPECT_NE(far.find("auto, radix, ladder, heap"), std::string::npos) << far;
  EXPECT_NE(refusal(""), "");
}

}  // namespace
}  // namespace orrery::pending
