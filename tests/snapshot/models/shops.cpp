// SPDX-License-Identifier: Apache-2.0
//
// The shops of the tests of engines as a model by itself: snapshots of it hold processes that wait,
// for all that processes can wait for, and whose frames point into this file's code.
#include "equality/process_model.h"

ORRERY_MODEL(orrery::testing::ProcessModel, "shops", "shops made of processes");
