#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts of the laboratory whose instructions are counted, with Linux of aarch64 and riscv64: they do
what those of x86_64 do (lab_qemu_test.py).

Environment: as lab_test.py. An architecture whose kernel or root is not built is left out, since its
cross compiler or a foreign package may not be there; without both, all is skipped.
"""
import io
import json
import shutil
import subprocess
import tarfile
import unittest

from lab_test import KERNEL, Case, has_linux
from lab_qemu_test import HERE, LINK, QemuCase, WHY_NO_QEMU

COUNTER_HZ = {"aarch64": 62_500_000, "riscv64": 10_000_000}
MADE = KERNEL.parent
ARCHITECTURES = [arch for arch in COUNTER_HZ if has_linux(arch) and not WHY_NO_QEMU]
NEEDS_LINUX = unittest.skipUnless(ARCHITECTURES, "no Linux of aarch64 or riscv64 is built (./dev lab --qemu)")
HOST = """
[[host]]
name = "{name}"
machine = "qemu"
arch = "{arch}"
speed = "{speed}"
{root}
ipv6 = false
{more}
"""
PROGRAM = """
[[host.program]]
command = '''{program}'''
"""


def host(name, arch, program, speed="500 MHz", more="", root=None):
    root = f'root = "{root or MADE / arch / "busybox"}"'
    return HOST.format(name=name, arch=arch, speed=speed, more=more, root=root) + \
        PROGRAM.format(program=program)


@NEEDS_LINUX
class OtherLinux(QemuCase):
    """Each topology has both architectures, or twice the one that there is."""

    def two(self, command, other=None, more="", end="", speed="500 MHz"):
        """Hosts a and b on a link."""
        path = self.folder / "two.toml"
        path.write_text(host("a", ARCHITECTURES[0], command, speed, more) +
                        host("b", ARCHITECTURES[-1], other or command, speed, more) + LINK + end)
        return path

    def test_runs_are_equal_on_engines_and_in_windows(self):
        command = ("sleep 1; ping -c 3 -s 8900 10.0.0.{other}; i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done; "
                   "cat /proc/uptime /proc/interrupts; uname -m; date +%s; head -c 16 /dev/urandom | md5sum; "
                   "echo $$ >/out/number; sleep 1")
        topology = self.two(command.format(other=2), command.format(other=1))
        seen = set()
        for words in (["--engine", "sequential"], ["--engine", "conservative", "--workers", "2"],
                      ["--engine", "timewarp", "--workers", "2"], ["window=1ms"], ["window=333333ns"],
                      ["window=142857ns"]):
            done = self.run_lab(topology, "--until", "30s", *words)
            seen.add((str(self.fingerprint(done)), self.results()))
            self.assertEqual(len(seen), 1, words)
        for name, arch in (("a", ARCHITECTURES[0]), ("b", ARCHITECTURES[-1])):
            said = self.console(name)
            self.assertIn("3 packets transmitted, 3 packets received", said)
            self.assertIn(f"\n{arch}\n", said)
            self.assertIn("reboot: Power down", said)
            self.assertGreater(int(self.left(name)["number"]), 200)
        random = [line for name in "ab" for line in self.console(name).splitlines() if line.endswith("  -")]
        self.assertEqual(len(set(random)), 2)

    def test_a_loop_takes_its_instructions_by_the_speed(self):
        for speed in (333_000_000, 8_000_000):
            for arch in ARCHITECTURES:
                subprocess.run(["clang", f"--target={arch}-linux-gnu", "-O2", "-ffreestanding", "-nostdlib",
                                "-static", "-fuse-ld=lld", "-fno-pic", "-o", self.folder / f"loop-{arch}",
                                HERE / "lab_loop.c"], check=True)
                path = self.folder / "loop.toml"
                path.write_text(host("a", arch, "chmod +x /loop; /loop", f"{speed} Hz",
                                     f'files = {{ "/loop" = "loop-{arch}" }}'))
                self.fingerprint(self.run_lab(path, "--until", "1000s"))
                took = [tuple(map(int, line.split())) for line in self.console("a").splitlines()[:4]]
                step = speed / COUNTER_HZ[arch]
                # What is not the loop takes as many instructions each time.
                rest = [count * step - 2 * times for times, count in took]
                self.assertEqual([times for times, _ in took], [1000, 2000, 5000, 9000])
                self.assertLess(max(rest) - min(rest), max(1, step) * 1.01, (arch, speed, took))
                self.assertLess(max(rest), 20 + step, (arch, speed, took))

    def test_the_date_is_that_of_the_run(self):
        """Also with an offset that is no whole second."""
        topology = self.two("usleep 1000; cut -d' ' -f1 /proc/uptime >/out/before; touch /tmp/now; "
                            "stat -c %y /tmp/now", more='clock = { offset = "-3250 ms" }')
        self.fingerprint(self.run_lab(topology, "--until", "30s"))
        for name in "ab":
            before = float(self.left(name)["before"])
            seconds = self.console(name).splitlines()[0].split()[1].split(":")
            seen = int(seconds[1]) * 60 + float(seconds[2]) - (13 * 60 + 20 - 3.25)
            self.assertAlmostEqual(seen, before, delta=0.1)

    def test_what_hosts_leave_comes_back_however_they_end(self):
        """The first switches itself off; the second crashes."""
        topology = self.two(
            "mkdir -p /out/d/e; echo deep >/out/d/e/f; dd if=/dev/zero of=/out/large bs=1M count=20 2>/dev/null; "
            "/lab/as nobody 'touch /out/nobody; id -u'",
            "while true; do echo $((i += 1)) >>/out/count; sleep 0.01; done",
            end='[[event]]\nat = "6s"\nhost = "b"\ncrash = true\n')
        self.fingerprint(self.run_lab(topology, "--until", "10s"))
        self.assertEqual(self.left("a"), {"d/e/f": b"deep\n", "large": bytes(20 << 20), "nobody": b""})
        self.assertIn("65534\n", self.console("a"))
        count = self.left("b")["count"]
        self.assertEqual(count, b"".join(b"%d\n" % i for i in range(1, count.count(b"\n") + 1)))
        self.assertGreater(len(count), 100)

    def test_processors_share_the_speed(self):
        """Two that compute take twice the time of one; their turns do not follow the grants."""
        command = ("f() { i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; }; "
                   "now() { cut -d' ' -f1 /proc/uptime; }; nproc; "
                   "now; f; now; f & f & wait; now; yes >/dev/null & ping -c 3 -i 0.1 10.0.0.{other}; kill $!; now; sleep 1")
        topology = self.two(command.replace("{other}", "2"), command.replace("{other}", "1"), "processors = 2")
        seen = set()
        for window in ("1s", "333333ns", "142857ns"):
            done = self.run_lab(topology, "--until", "30s", f"window={window}")
            seen.add((str(self.fingerprint(done)), self.results()))
            self.assertEqual(len(seen), 1, window)
        for name in "ab":
            said = self.console(name).splitlines()
            self.assertEqual(said[0], "2")
            begun, alone, both = (float(word) for word in said[1:4])
            self.assertAlmostEqual((both - alone) / (alone - begun), 2, delta=0.08)

    def test_one_that_panics_is_named(self):
        for arch in ARCHITECTURES:
            path = self.folder / "one.toml"
            path.write_text(host("a", arch, "echo here I am; echo c >/proc/sysrq-trigger"))
            done = self.run_lab(path, "--until", "30s")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("host a: it has reset itself, or broken down, without being switched off; its "
                          "console ends with", done.stderr)
            self.assertIn("here I am", self.console("a"))

    def test_a_squashfs_of_another_architecture(self):
        """Only the host itself can find that out."""
        subprocess.run(["mksquashfs", MADE / "x86_64/busybox", self.folder / "other.squashfs", "-quiet",
                        "-no-progress"], check=True, stdout=subprocess.DEVNULL)
        for arch in ARCHITECTURES:
            path = self.folder / "one.toml"
            path.write_text(host("a", arch, "true", root="other.squashfs"))
            done = self.run_lab(path, "--until", "30s")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("lab: the root is for another processor: its /bin/sh has the number 62", done.stderr)

    def test_an_image_of_containers(self):
        for arch, name in (("aarch64", "arm64"), ("riscv64", "riscv64")):
            if arch not in ARCHITECTURES:
                continue
            self.image(name, MADE / arch / "busybox")
            path = self.folder / "one.toml"
            path.write_text(host("a", arch, "", root="image.tar").replace("command = ''''''", ""))
            self.fingerprint(self.run_lab(path, "--until", "30s"))
            self.assertIn("hello from the image\n", self.console("a"))
            self.image("amd64", MADE / arch / "busybox")
            done = self.run_lab(path, "--until", "30s")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"the image is for linux on amd64, and the host runs linux on {name}", done.stderr)

    def image(self, architecture, root):
        """As of docker save."""
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            tar.add(root, ".")
        config = {"os": "linux", "architecture": architecture,
                  "config": {"Cmd": ["/bin/sh", "-c", "echo hello from the image"]}}
        parts = {"layer.tar": layer.getvalue(), "config.json": json.dumps(config).encode(),
                 "manifest.json": json.dumps([{"Config": "config.json", "Layers": ["layer.tar"]}]).encode()}
        with tarfile.open(self.folder / "image.tar", "w") as tar:
            for name, content in parts.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


class OtherRefusals(Case):
    """What needs no QEMU: the sentences about wrong topologies."""

    def refusal(self, text, *sets):
        path = self.folder / "one.toml"
        path.write_text(text)
        done = self.run_lab(path, f"qemu={self.folder}/nothing", *sets)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def root(self, machine):
        """A folder whose /bin/sh is a program for this processor, by links that lead from its root."""
        shutil.rmtree(self.folder / "root", ignore_errors=True)
        at = self.folder / "root/usr/bin"
        at.mkdir(parents=True)
        (at / "dash").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + bytes((2, 0, machine, 0)))
        (at / "sh").symlink_to("/bin/dash")
        (self.folder / "root/bin").symlink_to("usr/bin")
        return "root"

    def test_a_root_that_is_missing(self):
        for arch, name in (("aarch64", "arm64"), ("riscv64", "riscv64"), ("x86_64", "amd64")):
            said = self.refusal(HOST.format(name="a", arch=arch, speed="1 GHz", more="", root=""))
            self.assertIn(f"needs 'root': a folder, a squashfs or an image of containers that is for {name}, "
                          "such as", said)
            self.assertIn(f"--architectures={name} ", said)

    def test_a_root_of_another_architecture(self):
        for arch, machine, name in (("aarch64", 62, "x86_64"), ("riscv64", 183, "aarch64"),
                                    ("x86_64", 243, "riscv64"), ("aarch64", 8, "another architecture (8 in")):
            said = self.refusal(host("a", arch, "true", root=self.root(machine)))
            self.assertIn(f"(its /bin/sh) is for {name}", said)
            self.assertIn(f'and this host has arch = "{arch}"', said)

    def test_a_kernel_that_is_not_built(self):
        for arch, machine in (("aarch64", 183), ("riscv64", 243)):
            self.assertIn(f"/nothing/qemu-{arch}': ./dev lab --qemu builds it",
                          self.refusal(host("a", arch, "true", root=self.root(machine))))


if __name__ == "__main__":
    unittest.main()
