// SPDX-License-Identifier: Apache-2.0
//
// The shops of processes of tests/equality as a model that the command loads.
#include "equality/process_model.h"

namespace orrery::testing {
namespace {

class LoadedProcessModel final : public ProcessModel {
 public:
  void prepare() override {
    options.shops = static_cast<LpId>(lps.value());
    options.least_transfer = Duration::microseconds(least_us);
    options.durations = durations;
    options.fault_at_customer = static_cast<std::uint64_t>(fault_at.value());
  }

 private:
  Parameter<std::int64_t> lps{*this, "lps", 8, {.help = "shops", .minimum = 1}};
  Parameter<std::int64_t> least_us{
      *this, "least", 0, {.help = "promised delay of parcels, in microseconds", .minimum = 0}};
  Parameter<bool> durations{*this, "durations", false, {.help = "some parcels have durations"}};
  Parameter<std::int64_t> fault_at{
      *this, "fault_at", 0, {.help = "this customer of each shop fails (0: none)", .minimum = 0}};
};

ORRERY_MODEL(LoadedProcessModel, "processes", "the shops of processes of the equality tests");

}  // namespace
}  // namespace orrery::testing
