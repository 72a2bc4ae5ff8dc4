// SPDX-License-Identifier: Apache-2.0
//
// A model that is wrong on purpose: what it does depends on something outside of its LPs, a counter
// of its thread that no rollback restores. The fuzzer must find that (selfcheck.py). Of the thread,
// so that two workers are wrong without a race, on a busy machine, too.
#include "nasty.h"

namespace orrery::fuzz {
namespace {

thread_local std::uint64_t handled_here = 0;

class Counting final : public Habit {
  std::uint64_t change(Random&, std::uint64_t value) override {
    ++handled_here;
    sum_ = mix(sum_, value + handled_here);
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
