// SPDX-License-Identifier: Apache-2.0
#include "transport/ranks/mpi_wire.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "core/plugin_file.h"
#include "transport/ranks/mpi_plugin.h"

namespace orrery::transport {
namespace {

constexpr std::size_t kMostOnTheWay = 16;  ///< messages to a rank

unsigned number_in(const char* variable) {
  const char* const text = getenv(variable);
  unsigned number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

/// MPI libraries take over crash signals and calls of malloc, which belong to the handlers of
/// models here. Values that a user has set stay.
void calm_library() {
  const std::pair<const char*, const char*> wishes[] = {{"UCX_ERROR_SIGNALS", ""},
                                                        {"UCX_HANDLE_ERRORS", "none"},
                                                        {"UCX_MEM_EVENTS", "n"},
                                                        {"UCX_MEM_MALLOC_HOOKS", "n"},
                                                        {"UCX_MEM_MMAP_HOOK_MODE", "none"},
                                                        {"OMPI_MCA_opal_signal", ""},
                                                        {"OMPI_MCA_memory", "^patcher"},
                                                        {"OMPI_MCA_mpi_leave_pinned", "0"}};
  for (const auto& [name, value] : wishes) setenv(name, value, 0);
}

const OrreryMpi& load(const std::string& library) {
  const std::string path = plugin_file("orrery-mpi-" + library + ".so");
  const std::string package = library == "mpich" ? "libmpich-dev" : "libopenmpi-dev";
  if (path.empty())
    throw RankFailure(
        "an MPI launcher has started this, and orrery was built without its plugin "
        "orrery-mpi-" +
        library + ".so: install the package " + package +
        " and build again, or use --ranks without the launcher");
  calm_library();
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (object == nullptr) throw RankFailure(std::string("the system cannot load ") + dlerror());
  const auto table = reinterpret_cast<OrreryMpiTable>(dlsym(object, "orrery_mpi"));
  if (table == nullptr || table()->version != kOrreryMpiVersion)
    throw RankFailure(path + " belongs to another version of orrery: build both together");
  return *table();
}

class MpiWire final : public Wire {
 public:
  explicit MpiWire(const OrreryMpi& mpi) : mpi_(mpi) {
    char error[256] = "";
    if (mpi_.begin(error, sizeof error) != 0)
      throw RankFailure(std::string(mpi_.library()) + " cannot be used: " + error);
    rank_ = static_cast<unsigned>(mpi_.rank());
    const auto ranks = static_cast<std::size_t>(mpi_.ranks());
    outgoing_ = std::vector<Outgoing>(ranks);
    incoming_ = std::vector<std::deque<Coming>>(ranks);
  }
  ~MpiWire() override { parted_ ? mpi_.end() : mpi_.abandon(kAbandoned); }

  unsigned rank() const override { return rank_; }
  unsigned ranks() const override { return static_cast<unsigned>(outgoing_.size()); }
  std::string name() const override { return std::string("MPI (") + mpi_.library() + ")"; }

  void send(unsigned to, Parcel parcel) override {
    outgoing_[to].waiting.push_back(std::move(parcel));
    send_waiting(to);
  }
  bool progress(const Deliver& deliver) override {
    bool moved = false;
    for (unsigned to = 0; to < outgoing_.size(); ++to) moved |= forget_sent(to);
    moved |= probe_all();
    for (unsigned from = 0; from < incoming_.size(); ++from) moved |= hand_over(from, deliver);
    return moved;
  }
  bool is_drained() const override {
    return std::all_of(outgoing_.begin(), outgoing_.end(), [](const Outgoing& out) {
      return out.waiting.empty() && out.on_the_way.empty();
    });
  }
  void wait(std::chrono::microseconds most) override {
    std::this_thread::sleep_for(std::min(most, std::chrono::microseconds(50)));
  }
  void part() override { parted_ = true; }
  void abandon(int code) noexcept override { mpi_.abandon(code); }

 private:
  static constexpr int kAbandoned = 4;

  struct OnTheWay {
    Parcel parcel;
    void* request;
  };
  struct Outgoing {
    std::deque<Parcel> waiting;
    std::deque<OnTheWay> on_the_way;
  };
  /// A message with head and bytes, and its request.
  struct Coming {
    Parcel image;
    void* request;
  };

  void send_waiting(unsigned to) {
    Outgoing& out = outgoing_[to];
    while (!out.waiting.empty() && out.on_the_way.size() < kMostOnTheWay) {
      OnTheWay& one = out.on_the_way.emplace_back(std::move(out.waiting.front()), nullptr);
      out.waiting.pop_front();
      const std::span<const std::byte> image = one.parcel.image();
      one.request = mpi_.send(static_cast<int>(to), image.data(), image.size());
      if (one.request == nullptr)
        throw RankFailure("MPI refused a message of " + std::to_string(image.size()) +
                          " bytes to rank " + std::to_string(to));
    }
  }
  bool forget_sent(unsigned to) {
    Outgoing& out = outgoing_[to];
    bool moved = false;
    while (!out.on_the_way.empty() && mpi_.is_done(out.on_the_way.front().request) != 0) {
      out.on_the_way.pop_front();
      moved = true;
    }
    if (moved) send_waiting(to);
    return moved;
  }
  bool probe_all() {
    int from = 0;
    std::size_t count = 0;
    void* message = nullptr;
    bool moved = false;
    while (mpi_.probe(&from, &count, &message) != 0) {
      Coming& one = incoming_[static_cast<unsigned>(from)].emplace_back(Parcel(count), nullptr);
      one.request = mpi_.receive(message, one.image.extend(count), count);
      moved = true;
    }
    return moved;
  }
  /// Delivers parcels in the order of sending, not of completion.
  bool hand_over(unsigned from, const Deliver& deliver) {
    std::deque<Coming>& coming = incoming_[from];
    bool moved = false;
    while (!coming.empty() && mpi_.is_done(coming.front().request) != 0) {
      const Parcel image = std::move(coming.front().image);
      coming.pop_front();
      ParcelHead head;
      std::memcpy(&head, image.data(), sizeof head);
      Parcel parcel(head.bytes);
      parcel.append(image.data() + sizeof head, head.bytes);
      parcel.head() = head;
      deliver(from, std::move(parcel));
      moved = true;
    }
    return moved;
  }

  const OrreryMpi& mpi_;
  unsigned rank_ = 0;
  std::vector<Outgoing> outgoing_;            ///< by rank
  std::vector<std::deque<Coming>> incoming_;  ///< by rank
  bool parted_ = false;
};

}  // namespace

MpiEnvironment MpiEnvironment::now() {
  MpiEnvironment found;
  found.openmpi = getenv("OMPI_COMM_WORLD_SIZE") != nullptr || getenv("PMIX_RANK") != nullptr;
  found.mpich = getenv("PMI_RANK") != nullptr || getenv("PMI_SIZE") != nullptr;
  if (!found.any()) return found;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
    if (found.ranks == 0) found.ranks = number_in(variable);
  return found;
}

/// Returns pointers into the environment, with nullptr at the end.
std::vector<char*> MpiEnvironment::left_out() {
  std::vector<char*> rest;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text(*one);
    if (text.starts_with("OMPI_") || text.starts_with("PMIX_") || text.starts_with("PMI_"))
      continue;
    rest.push_back(*one);
  }
  rest.push_back(nullptr);
  return rest;
}

std::unique_ptr<Wire> join_mpi(const std::string& library) {
  return std::make_unique<MpiWire>(load(library));
}

}  // namespace orrery::transport
