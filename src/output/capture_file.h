// SPDX-License-Identifier: Apache-2.0
//
// captures.pcapng: all bytes that handlers captured, in the order of their events, for Wireshark,
// tshark, tcpdump and programs that read pcapng (draft-ietf-opsawg-pcapng). One file has all
// interfaces of the model, so that readers need not merge files whose packets have equal times. The
// file begins with a block for each interface; a packet's block names its interface, and a comment
// its LP. The bytes of the file depend on the committed events only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/nanoseconds.h"
#include "core/rows.h"
#include "orrery/model.h"
#include "output/output_folder.h"

namespace orrery {

class CaptureFile {
 public:
  static constexpr std::string_view kName = "captures.pcapng";

  CaptureFile(std::string path, const Model& model);

  /// A row of captured bytes (core/row_cells.h).
  void write(const Row& row);
  /// Completes the file. Must be the last call.
  void finish() { file_.finish(); }

 private:
  class Block;
  FileWriter file_;
  const Nanoseconds clock_;
};

}  // namespace orrery
