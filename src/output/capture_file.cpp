// SPDX-License-Identifier: Apache-2.0
#include "output/capture_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/row_cells.h"

namespace orrery {
namespace {

// Types of blocks, and options of them.
constexpr std::uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kPacket = 6;
constexpr std::uint16_t kEnd = 0, kComment = 1, kProgram = 4, kInterfaceName = 2,
                        kInterfaceHelp = 3, kResolution = 9;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint8_t kNanoseconds = 9;  // the resolution is 10^-9 s

}  // namespace

/// Writes one block to the buffer of a file: its type and length, its fields in the byte order of
/// the machine, and its length again.
class CaptureFile::Block {
 public:
  Block(FileWriter& file, std::uint32_t type)
      : file_(file), buffer_(file.buffer()), begin_(buffer_.size()) {
    put(type);
    put(std::uint32_t{0});  // the length, known at the end
  }
  ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  template <class Value>
  void put(Value value) {
    buffer_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  /// Pads to a multiple of four bytes.
  void put_bytes(std::string_view bytes) {
    buffer_.append(bytes);
    buffer_.append((4 - bytes.size() % 4) % 4, '\0');
  }
  void option(std::uint16_t code, std::string_view value) {
    put(code);
    put(static_cast<std::uint16_t>(value.size()));
    put_bytes(value);
  }
  void end() {
    option(kEnd, {});
    const auto length = static_cast<std::uint32_t>(buffer_.size() - begin_ + sizeof(std::uint32_t));
    put(length);
    std::memcpy(buffer_.data() + begin_ + sizeof(std::uint32_t), &length, sizeof length);
    file_.write("");
  }

 private:
  FileWriter& file_;
  std::string& buffer_;
  const std::size_t begin_;
};

CaptureFile::CaptureFile(std::string path, const Model& model)
    : file_(std::move(path)), clock_(model.tick_seconds()) {
  constexpr std::uint16_t kMajor = 1, kMinor = 0;
  Block section(file_, kSection);
  section.put(kByteOrder);
  section.put(kMajor);
  section.put(kMinor);
  section.put(std::int64_t{-1});  // the length of the section is not given
  section.option(kProgram, "orrery " ORRERY_VERSION);
  section.end();
  for (const Capture* one : model.captures()) {
    Block interface(file_, kInterface);
    interface.put(static_cast<std::uint16_t>(one->link()));
    interface.put(std::uint16_t{0});
    interface.put(static_cast<std::uint32_t>(Capture::kMaxBytes));
    interface.option(kInterfaceName, one->name());
    if (!one->help().empty()) interface.option(kInterfaceHelp, one->help());
    interface.option(kResolution, {reinterpret_cast<const char*>(&kNanoseconds), 1});
    interface.end();
  }
}

void CaptureFile::write(const Row& row) {
  const std::string_view bytes = row_cells::captured(row.cells);
  const std::uint64_t time = clock_.of(row.key.time().ticks());
  std::array<char, 16> comment;
  const char* const end = fmt::format_to(comment.data(), "LP {}", row.lp);
  Block packet(file_, kPacket);
  packet.put(row_cells::capture_of(row.table));
  packet.put(static_cast<std::uint32_t>(time >> 32));
  packet.put(static_cast<std::uint32_t>(time));
  packet.put(static_cast<std::uint32_t>(bytes.size()));  // captured
  packet.put(static_cast<std::uint32_t>(bytes.size()));  // on the wire
  packet.put_bytes(bytes);
  packet.option(kComment, {comment.data(), end});
  packet.end();
}

}  // namespace orrery
