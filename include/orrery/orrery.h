// SPDX-License-Identifier: Apache-2.0
//
// All public headers that a model needs.
#pragma once

#include "orrery/capture.h"
#include "orrery/context.h"
#include "orrery/empirical.h"
#include "orrery/error.h"
#include "orrery/event.h"
#include "orrery/input_file.h"
#include "orrery/logical_process.h"
#include "orrery/math.h"
#include "orrery/memory.h"
#include "orrery/model.h"
#include "orrery/parameter.h"
#include "orrery/preemptive_resource.h"
#include "orrery/random.h"
#include "orrery/random_stream.h"
#include "orrery/resource.h"
#include "orrery/results.h"
#include "orrery/reverse.h"
#include "orrery/shifts.h"
#include "orrery/time.h"
