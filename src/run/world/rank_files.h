// SPDX-License-Identifier: Apache-2.0
//
// Brings the files that LPs leave (Model::leaves) from the ranks to rank 0, at the end of a run.
// Machines need no common file system.
//
// A rank walks its folders and sends folders, files and pieces of files as one stream, with the
// credit of rows, so that a bounded number of bytes waits. Rank 0 makes what the stream names. The
// names may come from the guests of a model, or from a machine that is not ours: a name is one
// component, each folder is made anew, and nothing follows a link. So no name leads out of the paths
// that the model gives at rank 0.
#pragma once

#include <vector>

#include "orrery/model.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {

/// All ranks call it together, when their LPs have ended and nothing else uses the lane of rows.
/// `here`: the LPs of this rank. Throws UsageError at rank 0 if a file cannot be read or written.
void bring_files(transport::RankTransport& ranks, const Model& model,
                 const std::vector<LpId>& here);

}  // namespace orrery
