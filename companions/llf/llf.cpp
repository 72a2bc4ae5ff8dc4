// SPDX-License-Identifier: Apache-2.0
//
// The C interface: checks of the caller and of arguments, with sentences about errors.
#include "orrery/llf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <new>

#include "llf/handle.h"
#include "llf/sentence.h"

namespace {

using orrery::llf::Cores;
using orrery::llf::kSlotBits;
using orrery::llf::Life;
using orrery::llf::Linux;
using orrery::llf::say;
using orrery::llf::Schedule;
using orrery::llf::State;
using orrery::llf::state_of;

static_assert(LLF_EARLIEST == orrery::llf::kEarliest && LLF_NEVER == orrery::llf::kNever);
static_assert(LLF_MESSAGE == orrery::llf::kMessage && LLF_GVT == orrery::llf::kGvt &&
              LLF_DEATH == orrery::llf::kDeath && LLF_DEADLINE == orrery::llf::kDeadline);

constexpr unsigned kSlots = 64;
constexpr std::int64_t kHoldNs = 100'000;

/// The only thread of a fork's child writes it, before any other thread of the child starts and
/// reads it; so relaxed is enough.
std::atomic<unsigned> forks{0};

void count_forks() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] {
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  });
}

/// Whether this is the process that joined. Every call checks this, so it is only a load.
bool is_at_home(const llf* federate) {
  if (federate->forks == forks.load(std::memory_order_relaxed)) [[likely]]
    return true;
  say("federate '%s' of group '%s' is the process that has forked this one; llf_leave is all that "
      "may be called for it here, and llf_join makes another",
      federate->name, federate->group);
  return false;
}

/// The check for calls that take locks or sleep.
bool is_its_thread(const llf* federate) {
  if (!is_at_home(federate)) return false;
  if (pthread_equal(federate->thread, pthread_self()) != 0) return true;
  say("federate '%s' of group '%s' is another thread; llf is called by the thread that has joined",
      federate->name, federate->group);
  return false;
}

bool is_a_name(const char* name, std::size_t most, const char* what) {
  std::size_t length = 0;
  while (name != nullptr && length <= most && name[length] != '\0' &&
         (isalnum(static_cast<unsigned char>(name[length])) != 0 ||
          strchr("._-", name[length]) != nullptr))
    ++length;
  if (name != nullptr && length > 0 && length <= most && name[length] == '\0') return true;
  say("'%.80s' is no name of a %s: it has 1 to %zu letters, digits, and . _ -",
      name == nullptr ? "" : name, what, most);
  return false;
}

bool is_a_time(const llf* federate, llf_time time, llf_time latest, const char* what) {
  if (time < LLF_EARLIEST || time > latest) {
    say("federate '%s' of group '%s' gives %s %lld, which is not from LLF_EARLIEST to %s",
        federate->name, federate->group, what, static_cast<long long>(time),
        latest == LLF_NEVER ? "LLF_NEVER" : "before LLF_NEVER");
    return false;
  }
  if (time < federate->federate->gvt()) {
    say("federate '%s' of group '%s' gives %s %lld, which is before its GVT %lld; what is before "
        "GVT cannot be executed any more",
        federate->name, federate->group, what, static_cast<long long>(time),
        static_cast<long long>(federate->federate->gvt()));
    return false;
  }
  return true;
}

std::int64_t patience(std::int64_t timeout_ns) {
  return timeout_ns < 0 ? orrery::llf::kForEver : timeout_ns;
}

/// Makes the sentence for a notice of a death.
int tell(llf* federate, unsigned notice) {
  if ((notice & LLF_DEATH) != 0) {
    const Life& dead = federate->segment.lives()[federate->federate->last_dead()];
    say("federate '%.47s' of group '%s', process %d, has died without leaving", dead.name,
        federate->group, dead.process);
  }
  return static_cast<int>(notice);
}

struct Asked {
  unsigned tokens = 0, slots = kSlots;
  std::int64_t hold_ns = kHoldNs;
};

bool read_options(const llf_options* options, Asked& asked) {
  if (options == nullptr) return true;
  if (options->size != sizeof(llf_options)) {
    say("llf_options.size is %zu and must be sizeof(llf_options), %zu", options->size,
        sizeof(llf_options));
    return false;
  }
  if (options->tokens > orrery::llf::kMostSlots || options->slots > orrery::llf::kMostSlots) {
    say("llf_options asks for %u tokens and %u slots; there are at most %u", options->tokens,
        options->slots, orrery::llf::kMostSlots);
    return false;
  }
  asked.tokens = options->tokens;
  if (options->slots != 0) asked.slots = options->slots;
  if (options->hold_ns != 0) asked.hold_ns = options->hold_ns < 0 ? 0 : options->hold_ns;
  return true;
}

/// A token for each core that any federate may use, within the widest limit of their control groups.
/// Call it under the lock of the schedule.
unsigned tokens_of(const orrery::llf::Segment& segment) {
  if (segment.header().asked_tokens != 0) return segment.header().asked_tokens;
  const Schedule<Linux> schedule = segment.schedule();
  Cores all{};
  unsigned limit = 1;
  for (unsigned i = 0; i < schedule.count(); ++i) {
    if (state_of(schedule.word(i)) == State::free) continue;
    const Life& life = segment.lives()[i];
    all.add(life.cores);
    if (life.limit > limit) limit = life.limit;
  }
  const unsigned cores = all.count();
  return cores == 0 ? 1 : cores < limit ? cores : limit;
}

/// A function that notes which cores the calling thread may use, for decisions.
auto tokens_with_me(const orrery::llf::Segment& segment, unsigned slot) {
  Cores mine{};
  mine.add_mine();
  return [&segment, slot, mine, limit = orrery::llf::cores_of_control_groups()] {
    Life& life = segment.lives()[slot];
    life.cores = mine;
    life.limit = limit;
    return tokens_of(segment);
  };
}

/// Lets the tokens follow masks and quotas, which may change while federates run.
void follow_cores(llf* federate) {
  constexpr std::int64_t kBetweenLooks = 1'000'000'000;
  const std::int64_t now = Linux::now();
  federate->safe_points = 0;
  if (now < federate->next_look || federate->segment.header().asked_tokens != 0) return;
  federate->next_look = now + kBetweenLooks;
  federate->federate->set_tokens(tokens_with_me(federate->segment, federate->slot));
}

/// Finds a free slot, unless another federate has the name.
bool find_room(const llf* joining, const Schedule<Linux>& schedule, const Life* lives,
               unsigned& slot) {
  slot = schedule.count();
  for (unsigned i = schedule.count(); i-- > 0;) {
    if (state_of(schedule.word(i)) == State::free) {
      slot = i;
    } else if (strcmp(lives[i].name, joining->name) == 0) {
      say("group '%s' has a federate '%s' already, process %d; either two federates have one name, "
          "or another simulation runs whose group has this name",
          joining->group, joining->name, lives[i].process);
      return false;
    }
  }
  if (slot < schedule.count()) return true;
  say("group '%s' has %u federates, and no room for '%s'; the federate that joins first can ask "
      "for more "
      "(llf_options.slots, at most %u)",
      joining->group, schedule.count(), joining->name, orrery::llf::kMostSlots);
  return false;
}

/// Becomes a federate, without a token yet. Call it with the segment locked.
bool enter(llf* joining, const Asked& asked) {
  orrery::llf::Header& header = joining->segment.header();
  if (asked.tokens != 0 && asked.tokens != header.asked_tokens) {
    say("federate '%s' asks for %u tokens, but process %d has made group '%s' with %s",
        joining->name, asked.tokens, header.maker, joining->group,
        header.asked_tokens == 0 ? "as many as there are cores" : "another number");
    return false;
  }
  Schedule<Linux> schedule = joining->segment.schedule();
  schedule.look_for_the_dead();  // frees the names and slots of the dead
  if (!find_room(joining, schedule, joining->segment.lives(), joining->slot)) return false;
  Life& life = joining->segment.lives()[joining->slot];
  life.lock.lock();
  strcpy(life.name, joining->name);
  life.process = getpid();
  joining->federate.emplace(schedule, joining->slot, asked.hold_ns);
  joining->federate->enter(tokens_with_me(joining->segment, joining->slot));
  return true;
}

void destroy(llf* federate) {
  federate->~llf();
  free(federate);
}

/// As llf_join, but without waiting for a token.
llf* enter_group(const char* group, const char* name, const llf_options* options) {
  Asked asked;
  if (!is_a_name(group, sizeof(llf::group) - 1, "group") ||
      !is_a_name(name, sizeof(Life::name) - 1, "federate") || !read_options(options, asked))
    return nullptr;
  void* memory = malloc(sizeof(llf));
  if (memory == nullptr) {
    say("there is no memory for federate '%s' of group '%s'", name, group);
    return nullptr;
  }
  count_forks();
  llf* joining = new (memory) llf();
  strcpy(joining->group, group);
  strcpy(joining->name, name);
  joining->forks = forks.load(std::memory_order_relaxed);
  joining->thread = pthread_self();
  if (!joining->segment.open_or_make(group, asked.slots, asked.tokens) || !enter(joining, asked)) {
    destroy(joining);
    return nullptr;
  }
  joining->segment.unlock();
  return joining;
}

}  // namespace

unsigned orrery::llf::forks_so_far() {
  return forks.load(std::memory_order_relaxed);
}

::llf* orrery::llf::enter_group(const char* group, const char* name, const llf_options* options) {
  return ::enter_group(group, name, options);
}

llf* llf_join(const char* group, const char* name, const llf_options* options) {
  llf* joining = enter_group(group, name, options);
  if (joining != nullptr) joining->federate->start();
  return joining;
}

int llf_leave(llf* federate) {
  if (federate == nullptr) return 0;
  const bool at_home = federate->forks == forks.load(std::memory_order_relaxed);
  if (at_home) {
    if (!is_its_thread(federate)) return LLF_ERROR;
    federate->segment.lock();
    federate->federate->leave();
    federate->segment.lives()[federate->slot].lock.unlock();
    if (!federate->segment.anybody_lives()) federate->segment.remove();
    federate->segment.unlock();
  }
  destroy(federate);
  return 0;
}

int llf_seal(llf* federate) {
  if (!is_its_thread(federate)) return LLF_ERROR;
  federate->segment.seal();
  return 0;
}

int llf_meet(llf* federate, unsigned federates, int64_t timeout_ns) {
  if (!is_its_thread(federate)) return LLF_ERROR;
  const unsigned slots = federate->segment.header().slots;
  if (federates > slots) {
    say("federate '%s' waits for %u federates, but group '%s' has room for %u", federate->name,
        federates, federate->group, slots);
    return LLF_ERROR;
  }
  if (federate->federate->meet(static_cast<std::uint16_t>(federates), patience(timeout_ns)))
    return 0;
  say("federate '%s' waited for %u federates to join group '%s', and they are not there after %.1f "
      "s",
      federate->name, federates, federate->group, static_cast<double>(timeout_ns) * 1e-9);
  return LLF_ERROR;
}

int llf_lvt(llf* federate, llf_time lvt) {
  if (!is_at_home(federate)) return LLF_ERROR;
  if (lvt > LLF_NEVER || lvt < federate->federate->gvt()) [[unlikely]]
    if (!is_a_time(federate, lvt, LLF_NEVER, "the LVT")) return LLF_ERROR;
  federate->federate->set_lvt(lvt);
  return 0;
}

int llf_safe_point(llf* federate) {
  if (!is_at_home(federate)) return LLF_ERROR;
  constexpr unsigned kSafePointsBetweenClocks = 1024;
  if (++federate->safe_points >= kSafePointsBetweenClocks) [[unlikely]]
    follow_cores(federate);
  const unsigned notice = federate->federate->safe_point();
  return notice == 0 ? 0 : tell(federate, notice);
}

int llf_find(llf* federate, const char* name) {
  if (!is_its_thread(federate)) return LLF_ERROR;
  Schedule<Linux> schedule = federate->segment.schedule();
  int peer = LLF_ERROR;
  schedule.decide([&] {
    for (unsigned i = 0; i < schedule.count(); ++i) {
      if (state_of(schedule.word(i)) == State::free ||
          strcmp(federate->segment.lives()[i].name, name) != 0)
        continue;
      peer = static_cast<int>(federate->federate->generation_of(i) << kSlotBits | i);
    }
  });
  if (peer == LLF_ERROR) say("there is no federate '%.80s' in group '%s'", name, federate->group);
  return peer;
}

int llf_message_to(llf* federate, int peer, llf_time time) {
  if (!is_at_home(federate) || !is_a_time(federate, time, LLF_NEVER - 1, "the time of a message"))
    return LLF_ERROR;
  const auto number = static_cast<std::uint32_t>(peer);
  const unsigned slot = number & (orrery::llf::kMostSlots - 1);
  if (peer < 0 || slot >= federate->segment.header().slots) {
    say("federate '%s' of group '%s' sends a message to peer %d, which is no number from llf_find",
        federate->name, federate->group, peer);
    return LLF_ERROR;
  }
  if (federate->federate->message_to(slot, number >> kSlotBits, time)) return 0;
  say("federate '%s' of group '%s' sends a message to '%.47s', which has left or died",
      federate->name, federate->group, federate->segment.lives()[slot].name);
  return LLF_ERROR;
}

int llf_messages_read(llf* federate) {
  if (!is_at_home(federate)) return LLF_ERROR;
  federate->federate->reading_messages();
  return 0;
}

int llf_wait(llf* federate, int64_t timeout_ns) {
  if (!is_its_thread(federate)) return LLF_ERROR;
  follow_cores(federate);
  return tell(federate, federate->federate->wait(patience(timeout_ns)));
}

int llf_gvt(llf* federate, llf_time lowest, int64_t sent_minus_received, llf_time* gvt,
            int64_t* in_transit) {
  if (!is_its_thread(federate) ||
      !is_a_time(federate, lowest, LLF_NEVER, "to a round of GVT the time"))
    return LLF_ERROR;
  follow_cores(federate);
  const auto round = federate->federate->join_round(lowest, sent_minus_received);
  *gvt = round.gvt;
  *in_transit = round.balance;
  return tell(federate, round.notice & LLF_DEATH);
}

int llf_pause(llf* federate) {
  if (!is_its_thread(federate)) return LLF_ERROR;
  follow_cores(federate);
  federate->federate->pause();
  return 0;
}

int llf_resume(llf* federate) {
  if (!is_its_thread(federate)) return LLF_ERROR;
  federate->federate->resume();
  return 0;
}

const char* llf_error(void) {
  return orrery::llf::said();
}

int llf_clean(const char* group) {
  if (!is_a_name(group, sizeof(llf::group) - 1, "group")) return LLF_ERROR;
  orrery::llf::Segment segment;
  bool exists;
  if (!segment.open(group, exists)) return LLF_ERROR;
  if (exists && segment.anybody_lives()) {
    say("group '%s' has federates that live; process %d has made it", group,
        segment.header().maker);
    return LLF_ERROR;
  }
  if (segment.is_open()) segment.remove();
  return 0;
}
