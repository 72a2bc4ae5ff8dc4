// SPDX-License-Identifier: Apache-2.0
#include "engine/sequential/settings.h"

namespace orrery::sequential {

const Option<bool> kOnHeaps{"on-heaps", false};

}  // namespace orrery::sequential
