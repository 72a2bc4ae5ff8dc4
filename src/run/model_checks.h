// SPDX-License-Identifier: Apache-2.0
//
// What every engine must be able to rely on in a model, and calls of its code outside of LPs.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "orrery/error.h"
#include "orrery/model.h"
#include "run/activity.h"

namespace orrery {

/// Calls code of a model that is none of an LP's: "prepare()". What it throws is a fault of the
/// model, with a sentence, unless it says more itself or the system has no memory.
template <class Action>
auto call_model(const char* what, Action&& action) {
  const ModelCall running(what);
  const auto fault = [what](const char* why) {
    return ModelFault(std::string("model fault in ") + what + ": " + why);
  };
  try {
    return action();
  } catch (const UsageError&) {
    throw;
  } catch (const ModelFault&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    throw fault(exception.what());
  } catch (...) {
    throw fault("it threw something that is not a std::exception");
  }
}

/// Model::prepare, and what can be said of a model then: that it has LPs, and that its tick is a
/// length of time. `seed`: of the run that the model is for. Input files are
/// read here: a UsageError is about them, anything else is the model's mistake.
void prepare_model(Model& model, std::uint64_t seed);

/// Ends a model: its destructor is code of its own.
struct ModelEnd {
  ModelEnd() = default;
  ModelEnd(std::default_delete<Model>) {}
  void operator()(Model* model) const {
    const ModelCall running(kModelDestructor);
    delete model;
  }
};
using ModelPointer = std::unique_ptr<Model, ModelEnd>;

/// Throws ModelFault if no engine can have as many LPs as the model says.
void check_lp_count(const Model& model);

/// Model::default_horizon. Throws ModelFault for one before the beginning.
Time horizon_of(const Model& model);

/// Model::lookahead. Throws UsageError for a negative one.
Duration lookahead_of(const Model& model);

/// The model's communication graph. Throws UsageError for one that means nothing: LPs that do not
/// exist, a weight of 0, a negative delay, a promise from an LP to itself.
CommunicationGraph communication_of(const Model& model);

/// Model::create, which must not return nothing.
std::unique_ptr<LogicalProcessBase> create_lp(const Model& model, LpId id);

}  // namespace orrery
