// SPDX-License-Identifier: Apache-2.0
//
// Checks of a model on which every engine relies, and calls of model code that belongs to no LP.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "orrery/error.h"
#include "orrery/model.h"
#include "run/containment/activity.h"

namespace orrery {

/// Calls model code that belongs to no LP: "prepare()". Its exceptions become ModelFault with a
/// sentence, except UsageError, ModelFault and std::bad_alloc, which pass through.
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

/// Calls Model::prepare, and checks that the model has LPs and that its tick is a length of time.
/// `seed`: of the run that the model is for. Input files are read here: a UsageError is about them,
/// all other errors are the model's mistakes.
void prepare_model(Model& model, std::uint64_t seed);

/// Destroys a model; its destructor is model code.
struct ModelEnd {
  ModelEnd() = default;
  ModelEnd(std::default_delete<Model>) {}
  void operator()(Model* model) const {
    const ModelCall running(kModelDestructor);
    delete model;
  }
};
using ModelPointer = std::unique_ptr<Model, ModelEnd>;

/// Throws ModelFault if the model's number of LPs is not possible.
void check_lp_count(const Model& model);

/// Model::default_horizon. Throws ModelFault if it is negative.
Time horizon_of(const Model& model);

/// Model::lookahead. Throws UsageError if it is negative.
Duration lookahead_of(const Model& model);

/// The model's communication graph. Throws UsageError for an invalid graph: LPs that do not exist,
/// a weight of 0, a negative delay, a promise from an LP to itself.
CommunicationGraph communication_of(const Model& model);

/// Model::create, which must not return a null pointer.
std::unique_ptr<LogicalProcessBase> create_lp(const Model& model, LpId id);

}  // namespace orrery
