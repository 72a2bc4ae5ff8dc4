# SPDX-License-Identifier: Apache-2.0
"""Guests of the experiments: Debian's kernel for clouds, unpacked into the build folder, and one program
as all of the initial files."""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
from harness import ROOT, Failed  # noqa: E402

FOLDER = ROOT / "build/director-guests"
# A guest that does not get its time calibrates its clocks wrongly, or for ever.
UNCALIBRATED = "tsc_early_khz=2000000 lpj=4000000 no_timer_check"
# Of a card, in the order in which they are loaded.
MODULES = ("virtio/virtio_ring", "virtio/virtio", "virtio/virtio_pci_modern_dev",
           "virtio/virtio_pci_legacy_dev", "virtio/virtio_pci", "net/net_failover", "net/virtio_net")


def kernel():
    """The kernel of the newest image that linux-image-cloud-amd64 stands for."""
    found = sorted(FOLDER.glob("kernel/boot/vmlinuz-*"))
    if found:
        return found[-1]
    FOLDER.mkdir(parents=True, exist_ok=True)
    words = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], text=True,
                           capture_output=True, check=False).stdout.split()
    images = [word for word in words if word.startswith("linux-image-") and word[12].isdigit()]
    if not images:
        raise Failed("there is no package linux-image-cloud-amd64 here; --kernel names another")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "-qq", "download", images[0]], cwd=folder, check=True)
        package = next(Path(folder).glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, FOLDER / "kernel"], check=True)
    return sorted(FOLDER.glob("kernel/boot/vmlinuz-*"))[-1]


def card_modules():
    """The files of the kernel's modules for a card, by the names that net_guest.c looks for."""
    kernel()
    folder = next(FOLDER.glob("kernel/lib/modules/*/kernel"))
    paths = [folder / "drivers" / f"{name}.ko" for name in MODULES]
    paths.insert(5, folder / "net/core/failover.ko")
    return {f"modules/{10 + i}.ko": path.read_bytes() for i, path in enumerate(paths)}


def archive(program, files=None):
    """A cpio archive (newc) with /init, the console that it reads and writes, and further files."""
    def entry(path, mode, data=b"", device=(0, 0)):
        fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(path) + 1, 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + path.encode() + b"\0"
        return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)
    parts = [entry("dev", 0o040755), entry("dev/console", 0o020600, device=(5, 1)),
             entry("modules", 0o040755), entry("init", 0o100755, program)]
    parts += [entry(path, 0o100644, data) for path, data in (files or {}).items()]
    return b"".join(parts) + entry("TRAILER!!!", 0)


def initial_files(source, files=None):
    """The packed archive with this program, compiled."""
    program, packed = FOLDER / source.stem, FOLDER / f"{source.stem}.gz"
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O1", "-static", "-o", program, source], check=True)
    packed.write_bytes(gzip.compress(archive(program.read_bytes(), files)))
    return packed
