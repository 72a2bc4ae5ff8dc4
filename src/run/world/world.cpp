// SPDX-License-Identifier: Apache-2.0
#include "run/world/world.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "run/containment/activity.h"
#include "run/containment/guarded_call.h"

namespace orrery {

World::World(const Model& model, Layout layout, Promises promises,
             std::uint32_t livelock_microsteps)
    : pending(layout.arenas.empty() ? layout.part_count : layout.arenas.size()),
      trail(livelock_microsteps),
      mergeable_statistics(model),
      model_(model),
      promises_(std::move(promises)),
      executions_(model, promises_),
      lp_count_(static_cast<LpId>(model.lp_count())),
      denies_oversize_(layout.deny_oversize),
      parts_(std::move(layout.parts)),
      ranks_(std::move(layout.ranks)),
      place_(layout.place),
      lps_(lp_count_, !layout.arenas.empty()),
      places_(nullptr, FreePlaces{0}),
      made_(pending.size()) {
  for (const memory::Colouring& colouring : layout.arenas)
    arenas_.push_back(std::make_unique<memory::Arena>(colouring, layout.deny_oversize));
  if (!on_heaps()) return;
  places_ = {HugePageAllocator<Place>().allocate(lp_count_), FreePlaces{lp_count_}};
}

World::~World() {
  if (!on_heaps()) {
    if (lps_.empty()) return;  // an engine that had the table has failed
    const OrdinaryCalls ordinary;
    for (LpId id = 0; id < lp_count_; ++id) {
      if (!is_here(id)) continue;
      const ModelCall call("its destructor", id);
      end_object(lps_[id].object);
    }
    return;
  }
  // Memory misuse by destructors changes no result and is not reported.
  const MisuseWatch misuse;
  const HeapMisuseNote before = std::exchange(heap_misuse(), {});
  for (LpId id = 0; id < lp_count_; ++id)
    if (is_here(id) && made_[part_of(id)] != 0) destroy(id);
  heap_misuse() = before;
}

/// A dropped handler may have left its LP inconsistent, so its destructor may crash in turn.
void World::end_object(LogicalProcessBase* object) const {
  if (!failed) {
    delete object;
    return;
  }
  recoverable([object] { delete object; });
}

void World::destroy(LpId id) {
  // Without a table (an engine that had it has failed) the LPs' addresses are unknown.
  if (LogicalProcessBase* object = lps_.empty() ? nullptr : lps_[id].object) {
    const ModelCall call("its destructor", id);
    const memory::ApplicationMode application(places_[id].heap);
    end_object(object);
  }
  places_[id].~Place();
}

void World::make_heaps(unsigned part) {
  for_each_of(part, [&](LpId id) {
    new (&places_[id]) Place(*arenas_[part]);
    lps_.make_line(id);
  });
  made_[part] = 1;
}

}  // namespace orrery
