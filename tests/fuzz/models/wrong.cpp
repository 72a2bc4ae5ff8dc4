// SPDX-License-Identifier: Apache-2.0
//
// A model that is wrong on purpose: what it does depends on something outside of its LPs, a counter
// that no rollback restores. The fuzzer must find that (selfcheck.py).
#include "nasty.h"

namespace orrery::fuzz {
namespace {

/// Volatile: the compiler must not keep it from other threads. Workers race for it, as they would
/// in any model with this mistake.
volatile std::uint64_t handled_by_all = 0;

class Counting final : public Habit {
  std::uint64_t change(Random&, std::uint64_t value) override {
    handled_by_all = handled_by_all + 1;
    sum_ = mix(sum_, value + handled_by_all);
    return sum_;
  }
  std::uint64_t digest() const override { return sum_; }

  std::uint64_t sum_ = 0;
};

class Wrong final : public NastyModel {
 public:
  Wrong() : NastyModel({habit<Counting>("counting")}) {}
};

ORRERY_MODEL(Wrong, "wrong", "depends on a counter outside of its LPs, which no model may");

}  // namespace
}  // namespace orrery::fuzz
