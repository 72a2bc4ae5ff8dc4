/* SPDX-License-Identifier: Apache-2.0
 *
 * Least-LVT-first scheduling as a model of what companions/llf decides, for Spin (Holzmann: The model checker
 * Spin, IEEE Trans. Software Eng. 23(5), 1997): in all interleavings all federates come to their end,
 * also if the system is only fair in that it lets each process go on at some time. What is decided
 * under the lock is one step here; that steps with the lock are is what tests/explore looks at.
 *
 * The federates are in a circle. Each may execute the event at its LVT once the one before it has come
 * as far (a lookahead of one). At time 1 the first wants a round of GVT, for which all have to come.
 * FEDERATES, TOKENS and END are given; so is at most one error:
 *   SPINS        a federate that has joined the round looks again and again whether all have, at safe
 *                points, but with its token if nobody earlier is ready
 *   FORGETS      a federate goes to sleep without looking whether a message has come meanwhile
 *   KEEPS        a federate keeps its token at safe points, and waits with it
 */
#define BEFORE(i) ((i + FEDERATES - 1) % FEDERATES)
#define AFTER(i) ((i + 1) % FEDERATES)
#define NEVER 200

mtype = { running, ready, waiting, aside, ended };
mtype state[FEDERATES] = ready;
byte lvt[FEDERATES];
bool unread[FEDERATES], joined[FEDERATES];
bool round;
byte members;  /* of the round */
byte lowest_ready = NEVER;
byte runs, over;

/* Whoever has got what it waits for becomes ready, tokens go to the least LVT. */
inline settle() {
  runs = 0;
  for (k : 0 .. FEDERATES - 1) {
    if
    :: state[k] == waiting && (unread[k] || (round && !joined[k])) -> state[k] = ready
    :: state[k] == aside && members == FEDERATES -> state[k] = ready
    :: else
    fi;
    if
    :: state[k] == running -> runs++
    :: else
    fi
  }
  do
  :: least = NEVER;
     lowest_ready = NEVER;
     for (k : 0 .. FEDERATES - 1) {
       if
       :: state[k] == ready && lvt[k] < lowest_ready -> lowest_ready = lvt[k]; least = k
       :: else
       fi
     }
     if
     :: least == NEVER || runs == TOKENS -> break
     :: else -> state[least] = running; runs++
     fi
  od;
  assert(runs <= TOKENS);
  k = 0;
  least = 0
}

active [FEDERATES] proctype federate() {
  byte k, least;
  bool sleeps;
  d_step { settle() }
  do
  :: state[_pid] == running ->
     if
     :: lvt[_pid] == END ->
        d_step {
          state[_pid] = ended;
          over++;
          if
          :: !joined[_pid] -> joined[_pid] = true; members++  /* who has left is not waited for */
          :: else
          fi;
          settle()
        };
        break
     :: else
     fi;
     if
     :: !joined[_pid] && (round || (_pid == 0 && lvt[_pid] == 1)) ->
        d_step {
          round = true;
          joined[_pid] = true;
          members++;
#ifndef SPINS
          state[_pid] = aside;
#endif
          settle()
        }
#ifdef SPINS
        do
        :: members == FEDERATES -> break
        :: else ->
           if
           :: lowest_ready < lvt[_pid] ->
              d_step { state[_pid] = ready; settle() };
              state[_pid] == running
           :: else
           fi
        od;
#endif
        state[_pid] == running
     :: else
     fi;
     unread[_pid] = false;
     if
     :: lvt[BEFORE(_pid)] >= lvt[_pid] ->
        lvt[_pid] = lvt[_pid] + 1;
        d_step { unread[AFTER(_pid)] = true; sleeps = state[AFTER(_pid)] == waiting };
        if
        :: sleeps -> d_step { sleeps = false; settle() }
        :: else
        fi
     :: else ->
#if defined(KEEPS)
        skip
#elif defined(FORGETS)
        d_step { state[_pid] = waiting; unread[_pid] = false; settle() }
#else
        d_step {
          if
          :: !unread[_pid] && (!round || joined[_pid]) -> state[_pid] = waiting
          :: else
          fi;
          settle()
        }
#endif
     fi;
#ifndef KEEPS
     if
     :: state[_pid] == running && lowest_ready < lvt[_pid] ->
        d_step { state[_pid] = ready; settle() }
     :: else
     fi
#endif
  od
}

ltl all_end { <> (over == FEDERATES) }
