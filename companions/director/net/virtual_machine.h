// SPDX-License-Identifier: Apache-2.0
//
// A virtual machine that runs unmodified under QEMU: its process, its cards as sockets, its console
// and its control. A datagram on the socket of a card is a frame. All sockets are unnamed, so no
// other process can reach them. The guest is hostile: QEMU runs without rights (as nobody, and behind
// its filter of system calls).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "director/thread.h"
#include "lab/topology.h"

namespace orrery::director {

class VirtualMachine {
 public:
  static constexpr std::size_t kMostConsole = std::size_t{64} << 20;  ///< bytes; more are left out

  /// Starts it. `folder`: for its files `console` and `qemu.log`. Throws UsageError.
  VirtualMachine(const lab::Host& host, const std::filesystem::path& folder);
  /// Ends it.
  ~VirtualMachine();
  VirtualMachine(VirtualMachine&& other) noexcept;
  VirtualMachine& operator=(VirtualMachine&&) = delete;

  const std::string& name() const { return name_; }
  pid_t process() const { return process_; }
  /// The sockets of its cards, in the order of its ports.
  const std::vector<Descriptor>& cards() const { return cards_; }
  const std::string& accelerator() const { return accelerator_; }

  /// Copies what it has written on its console to its file `console`, up to kMostConsole. Call it ten
  /// times a second.
  void read_console();
  /// Whether its console has shown the text `ready` of its description, or it has none.
  bool is_ready() const { return ready_.empty(); }
  /// False once the process has ended; then how_it_ended() says how.
  bool is_running();
  std::string how_it_ended() const;

  /// Stops and continues its processors, and the clocks that it shows its guest.
  void stop();
  void go_on();

 private:
  void tell(std::string_view order);

  std::string name_, ready_, accelerator_;
  std::filesystem::path folder_;
  Descriptor console_file_;
  std::string console_end_;  ///< in which `ready` is looked for
  std::size_t console_bytes_ = 0;
  pid_t process_ = -1;
  int status_ = 0;
  bool has_ended_ = false;
  std::vector<Descriptor> cards_;
  Descriptor control_, console_;
};

}  // namespace orrery::director
