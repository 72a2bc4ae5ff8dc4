// SPDX-License-Identifier: Apache-2.0
//
// Files and folders as a sequence of parcels: the writer of one end and the reader of the other
// (run/world/rank_files.h says why).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "orrery/model.h"
#include "transport/ranks/bytes.h"
#include "transport/ranks/parcel.h"

namespace orrery {

/// What a parcel of the stream is (ParcelHead::kind), and what it holds.
enum class FilePart : std::uint8_t {
  item,           ///< LP, number: what comes next replaces this item
  folder,         ///< name, mode
  end_of_folder,  ///< time
  file,           ///< name, mode
  data,           ///< offset, bytes
  end_of_file,    ///< time, length
  failure,        ///< a sentence
  end
};

/// Writes files and folders into parcels.
class FileSender {
 public:
  using Send = std::function<void(transport::Parcel)>;
  explicit FileSender(Send send) : send_(std::move(send)) {}

  /// What lies at a path is item number `item` of an LP. Nothing may lie there.
  void send(LpId lp, std::uint32_t item, const std::string& path);
  /// The last call.
  void end();

 private:
  void put(int folder, const char* name, unsigned level);
  void put_folder(int descriptor, unsigned level);
  void put_file(int descriptor, std::int64_t bytes);
  void put_data(int descriptor, std::int64_t from, std::int64_t to);
  void fail(const std::string& what);

  const Send send_;
  std::string path_;  ///< of the item, for messages
};

/// Makes files and folders from parcels, which are checked. Modes keep the bits of permissions alone: a
/// guest must not leave a program that runs as the user who started the run.
class FileReceiver {
 public:
  /// Where item number `item` of an LP belongs; "" if there is none.
  using Place = std::function<std::string(LpId lp, std::uint32_t item)>;
  explicit FileReceiver(Place place) : place_(std::move(place)) {}

  /// Takes the next parcel. After a failure all further parcels but the last are passed over.
  void take(const transport::Parcel& parcel);
  bool is_at_end() const { return ended_; }
  /// Why the files are not complete; "" if they are.
  const std::string& failure() const { return failure_; }

 private:
  void apply(const transport::Parcel& parcel);
  void begin_item(LpId lp, std::uint32_t item);
  void enter_folder(transport::ByteReader& reader);
  void begin_file(transport::ByteReader& reader);
  void write(transport::ByteReader& reader);
  std::string next_name(transport::ByteReader& reader);
  void set_time(int descriptor, transport::ByteReader& reader) const;

  const Place place_;
  std::string path_;      ///< of the item
  std::string top_name_;  ///< of the item in its folder; "": it has been made
  std::vector<std::unique_ptr<Descriptor>> folders_;  ///< the item's folder, and those below
  std::unique_ptr<Descriptor> file_;                  ///< being written
  bool ended_ = false;
  std::string failure_;
};

}  // namespace orrery
