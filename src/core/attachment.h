// SPDX-License-Identifier: Apache-2.0
//
// What an engine hangs on an LP while it has a world (run/world.h), beyond what it keeps of all of
// them. The world knows nothing of it, and it is gone when the world is handed over.
#pragma once

namespace orrery {

struct Attachment {
  virtual ~Attachment() = default;
};

}  // namespace orrery
