// SPDX-License-Identifier: Apache-2.0
//
// Base of the data that an engine attaches to an LP while the engine has the world (run/world.h),
// in addition to the engine's arrays over all LPs. It is deleted before the world is handed over.
#pragma once

namespace orrery {

struct Attachment {
  virtual ~Attachment() = default;
};

}  // namespace orrery
