# SPDX-License-Identifier: Apache-2.0
"""CND and VND (orders.py) by real MPI: Open MPI over TCP between hosts.

Hosts have no ssh; remote.c is what mpirun starts its daemons with. Open MPI polls for messages, and a
poll takes as long as its system calls do: with 1 us each, eight ranks that wait for a second poll
four million times, with the 50 or 100 us of here a fiftieth or a hundredth of that. A message of 1,000
bytes takes 0.8 ms of a link's time, so that even so each is seen before the next arrives."""

from hosts import need, star
from orders import ROUNDS, compare, longer_ways, note

FAIR_SLOWER = 10


def first_s(ranks):
    """Open MPI has started by then."""
    return 3 if ranks <= 8 else ranks / 4


def unit_s(kind, ranks):
    """For ways of 10 ms. Of CND's messages each takes its time of rank 0's link; VND's longest goes over
    as many ways as twice the ranks."""
    return 0.06 * ranks / 8 if kind == "cnd" else 0.013 * (2 * ranks + 4)


PARAMETERS = """plm_rsh_agent = /root/remote
btl = tcp,self
btl_tcp_if_include = eth0
oob_tcp_if_include = eth0
pml = ob1
osc = pt2pt
mpi_yield_when_idle = 1
"""


def start_of(round_, first, unit):
    """As mpi_orders.c has it."""
    return first + unit * round_ * (round_ + 1) / 2


def topology(place, kind, ranks, *, rounds=ROUNDS, first=None, slower=1, capture=False):
    """Round r has ways of 10 (r + 1) ms. When the last has ended, all hosts switch themselves off."""
    need("openmpi-bin libopenmpi-dev", "mpicc", "mpirun", "orted")
    place.compile("remote")
    place.compile("mpi_orders", "mpicc")
    place.write("mca-params.conf", PARAMETERS)
    place.write(f"ranks{ranks}", "".join(f"10.0.0.{i + 1} slots=1\n" for i in range(ranks)))
    first = first_s(ranks) if first is None else first
    unit = unit_s(kind, ranks) * slower
    files = (f'"/root/remote" = "remote", "/root/mpi_orders" = "mpi_orders", "/root/ranks" = "ranks{ranks}", '
             '"/root/.openmpi/mca-params.conf" = "mca-params.conf"')
    events = longer_ways(ranks, {round_: 1000 * start_of(round_, first, unit) - 5
                                 for round_ in range(1, rounds)})
    text = star(place, ranks, "/root/remote serve", delay="5ms", rate="10 Mbit/s", files=files,
                memory=128, keys=f'system_call = "{50 if ranks <= 8 else 100}us"', capture=capture,
                more=f"""
[[event]]
at = "100ms"
host = "h1"
command = '''
mpirun --allow-run-as-root --hostfile /root/ranks -n {ranks} \\
  /root/mpi_orders {kind} {first} {unit} {rounds}
echo "mpirun ended with $?"
for i in $(seq {ranks} -1 1); do /root/remote 10.0.0.$i /lab/off; done'''
{events}""")
    return place.write(f"mpi-{kind}{ranks}-{rounds}.toml", text)


def one(place, options, table, bars, rows, kind, ranks):
    def describe(fair):
        first, slower, rest = (60 + ranks, FAIR_SLOWER, 10) if fair else (first_s(ranks), 1, 5)
        return (topology(place, kind, ranks, first=first, slower=slower),
                start_of(ROUNDS, first, unit_s(kind, ranks) * slower) + rest)

    row = {"part": "mpi", **compare(place, options, kind, ranks, describe)}
    note(table, bars, rows, f"{kind} by MPI", row)
