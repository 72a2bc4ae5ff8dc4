// SPDX-License-Identifier: Apache-2.0
#include "snapshot/snapshot_restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "memory/model_heap.h"
#include "orrery/error.h"

namespace orrery::snapshot {

SnapshotRestore::SnapshotRestore(const std::string& run, unsigned number) : folder_(run) {
  std::error_code error;
  if (!std::filesystem::is_directory(run, error))
    throw UsageError(fmt::format("there is no folder '{}'", run));
  std::vector<unsigned> numbers = folder_.numbers();
  if (numbers.empty())
    throw UsageError(fmt::format(
        "'{}' holds no snapshot: a run leaves them with --snapshot-every, --snapshot-at, "
        "--snapshot-wall or --snapshots",
        run));
  if (number > 0) {
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
      throw UsageError(fmt::format("'{}' holds no snapshot {}; the last one is {}", run, number,
                                   numbers.back()));
    numbers = {number};
  }
  for (; !numbers.empty(); numbers.pop_back()) {
    try {
      parts_ = folder_.read_parts(folder_.read_manifest(numbers.back()));
      contents_.clear();
      for (const Manifest& part : parts_)
        contents_.push_back(std::make_unique<Contents>(folder_, part));
      return;
    } catch (const UsageError& error_of_one) {
      if (numbers.size() == 1) throw;
      notes_.push_back(
          fmt::format("{}; going on with the snapshot before it", error_of_one.what()));
    }
  }
}

void SnapshotRestore::check_ground() const {
  const Ground& there = manifest().ground;
  const Ground here = Ground::of_this_process(manifest().model_path);
  if (here.program != there.program)
    throw UsageError(
        "the snapshot was made by another build of the command 'orrery', whose code lies "
        "elsewhere; "
        "resume it with that one");
  if (here.model_object != there.model_object)
    throw UsageError(
        fmt::format("the model '{}' is another build than the snapshot's; resume it with that one",
                    manifest().model_path));
  if (here.region_base != there.region_base || here.region_bytes != there.region_bytes ||
      here.page_bytes != there.page_bytes)
    throw UsageError(fmt::format(
        "memory of LPs lies at {:#x} in this process, {} MiB in pages of {} bytes, and in the "
        "snapshot at {:#x}, {} MiB in pages of {}; is the limit of addresses another (ulimit -v)?",
        here.region_base, here.region_bytes >> 20, here.page_bytes, there.region_base,
        there.region_bytes >> 20, there.page_bytes));
  const std::vector<Module> modules = loaded_modules();
  for (const Reference& one : manifest().references) {
    const auto same = [&](const Module& module) {
      return module.base == one.base && module.build_id == one.build_id &&
             std::filesystem::path(module.path).filename() ==
                 std::filesystem::path(one.path).filename();
    };
    if (std::any_of(modules.begin(), modules.end(), same)) continue;
    throw UsageError(fmt::format(
        "LPs hold {} addresses in {} (streams or locales, for instance), which lies elsewhere in "
        "this process, or is another build; addresses by chance cannot be switched off here",
        one.words, one.path));
  }
}

void SnapshotRestore::restore_model() const {
  const Bytes section = contents_.front()->sections()[kModel];
  memory::ModelHeap& heap = *memory::model_heap();
  switch (compare_model(section, heap)) {
    case ModelMatch::equal:
      return;
    case ModelMatch::laid_out_otherwise:
      throw UsageError(
          "the model, prepared again, is laid out otherwise than the snapshot's; were its input "
          "files changed?");
    case ModelMatch::contents_differ:
      snapshot::restore_model(section, heap);
      return;
  }
}

void SnapshotRestore::fill(World& world) {
  if (world.lp_count() != manifest().lps)
    throw UsageError(
        fmt::format("the model has {} LPs, and the snapshot {}", world.lp_count(), manifest().lps));
  std::vector<SectionBytes> images;
  for (const auto& contents : contents_) images.push_back(contents->sections());
  restore(images, world, until_);
  world.cut = manifest().cut;
  world.committed = manifest().committed;
  world.executed = manifest().executed;
  world.trail.restore(Time::from_ticks(manifest().trail_ticks), manifest().trail_lps);
  for (const Manifest& part : parts_)
    if (part.rank > 0) world.trail.merge(Time::from_ticks(part.trail_ticks), part.trail_lps);
  contents_.clear();
}

}  // namespace orrery::snapshot
