// SPDX-License-Identifier: Apache-2.0
//
// Base of the data that an engine attaches to an LP while the engine has the world
// (run/world/world.h), in addition to its data of every LP. It is deleted before the engine hands
// the world over.
#pragma once

namespace orrery {

struct Attachment {
  virtual ~Attachment() = default;
};

}  // namespace orrery
