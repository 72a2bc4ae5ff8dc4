#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The disk on which a counted host's kernel writes /out (models/lab/guest/disk.c). The host may have
written any bytes, and only files and folders may come of them, below one folder and in bounds.

Environment: MODELS. Needs gcc and mke2fs, and is skipped without them.
"""
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
GUEST = Path(os.environ["MODELS"]) / "lab/guest"
MKE2FS = shutil.which("mke2fs", path=os.environ["PATH"] + ":/sbin:/usr/sbin")
BLOCK, INODE, TABLE, ROOT = 4096, 256, 4, 2
FOLDER, FILE, LINK, DEVICE = 0o040755, 0o100644, 0o120777, 0o060644
WHY_NOT = None if MKE2FS and shutil.which("gcc") else "there is no mke2fs or gcc here"


class Disk:
    """An empty disk, as qemu/build makes it, on which bytes can be put."""

    def __init__(self, path):
        self.path = path
        make = re.search(r"^make_disk\(\) \{.*?^}", (GUEST.parent / "qemu/build").read_text(), re.M | re.S)
        subprocess.run(["bash", "-c", f'{make[0]}; make_disk "{path}"'], check=True)
        self.bytes = bytearray(path.read_bytes()) + bytes(8 << 20)  # the rest is empty
        self.next_inode, self.next_block = 20, 2000

    def put(self, at, raw):
        self.bytes[at:at + len(raw)] = raw

    def block(self, raw):
        self.next_block += 1
        self.put(self.next_block * BLOCK, raw)
        return self.next_block

    def inode(self, mode, size, pointers, number=None):
        """Its number."""
        if number is None:
            self.next_inode = number = self.next_inode + 1
        raw = bytearray(INODE)
        struct.pack_into("<HHI", raw, 0, mode, 0, size & 0xffffffff)
        struct.pack_into(f"<{len(pointers)}I", raw, 40, *pointers)
        struct.pack_into("<I", raw, 108, size >> 32)
        self.put(TABLE * BLOCK + (number - 1) * INODE, raw)
        return number

    def file(self, text=b"text"):
        return self.inode(FILE, len(text), [self.block(text)])

    def folder(self, *entries, number=None):
        """Entries: (name, inode)."""
        raw = bytearray()
        for i, (name, inode) in enumerate(entries):
            rest = BLOCK - len(raw) if i + 1 == len(entries) else (8 + len(name) + 3) // 4 * 4
            raw += struct.pack("<IHBB", inode, rest, len(name), 0) + name
            raw += bytes(-len(raw) % 4)
        return self.inode(FOLDER, BLOCK, [self.block(raw)], number)

    def root(self, *entries):
        self.folder((b".", ROOT), (b"..", ROOT), *entries, number=ROOT)


@unittest.skipIf(WHY_NOT, WHY_NOT or "")
class Disks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="disk")
        cls.addClassCleanup(holder.cleanup)
        cls.program = Path(holder.name) / "lab_disk"
        subprocess.run(["gcc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                        f"-I{GUEST}", "-o", cls.program, HERE / "lab_disk.c",
                        *(GUEST / f"{name}.c" for name in ("disk", "results", "support"))], check=True)

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="disk")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.disk = Disk(self.folder / "empty")

    def bring(self):
        """What comes of the disk: (exit status, what was said, bytes by name)."""
        (self.folder / "disk").write_bytes(self.disk.bytes)
        os.truncate(self.folder / "disk", 128 << 20)
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        done = subprocess.run([self.program, self.folder / "empty", self.folder / "disk", out],
                              capture_output=True, text=True, timeout=240, check=False)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["disk", "empty", "out"])
        brought = {}
        for path in out.rglob("*"):
            self.assertFalse(path.is_symlink() or not (path.is_dir() or path.is_file()), path)
            brought[str(path.relative_to(out))] = path.read_bytes() if path.is_file() else None
        return done.returncode, done.stderr, brought

    def refused(self, reason, name):
        status, said, brought = self.bring()
        self.assertEqual(status, 3)
        self.assertIn(f"lab: '{name}' of /out could not be kept: {reason}", said)
        return brought

    def test_files_as_the_kernel_writes_them(self):
        """mke2fs writes them here: large ones, with holes, and a folder of many blocks."""
        files = self.folder / "files"
        (files / "many").mkdir(parents=True)
        for i in range(1000):
            (files / f"many/{i:0100}").write_text(f"{i}")
        (files / "large").write_bytes(random.Random(1).randbytes(9 << 20))
        with open(files / "holes", "wb") as file:
            file.seek(30 << 20)
            file.write(b"end")
        (files / "link").symlink_to("/etc/passwd")
        os.mkfifo(files / "fifo")
        subprocess.run([MKE2FS, "-qq", "-F", "-t", "ext2", "-b", "4096", "-I", "256", "-N", "16384", "-O",
                        "none,filetype,sparse_super,large_file", "-d", files, self.folder / "full", "68M"],
                       check=True, stdout=subprocess.DEVNULL)
        self.disk.bytes = bytearray((self.folder / "full").read_bytes())
        expected = {str(path.relative_to(files)): path.read_bytes() if path.is_file() else None
                    for path in files.rglob("*") if path.is_dir() or
                    (path.is_file() and not path.is_symlink())} | {"lost+found": None}
        shutil.rmtree(files)
        (self.folder / "full").unlink()
        status, said, brought = self.bring()
        self.assertEqual((status, said), (0, ""))
        self.assertEqual(brought, expected)
        self.assertLess((self.folder / "out/holes").stat().st_blocks, 100)

    def test_names_that_lead_elsewhere(self):
        for name in (b"../up", b"a/b", b"/tmp/x", b"", b"\0"):
            self.disk.root((name, self.disk.file()), (b"good", self.disk.file(b"good")))
            brought = self.refused("Input/output error", name.decode().strip("\0"))
            self.assertEqual(brought, {"good": b"good"})
        self.disk.root((b"twice", self.disk.file(b"1")), (b"twice", self.disk.file(b"2")))
        self.assertEqual(self.refused("File exists", "twice"), {"twice": b"1"})

    def test_what_is_neither_file_nor_folder_is_left_out(self):
        self.disk.root((b"link", self.disk.inode(LINK, 6, [0x6374652f])),
                       (b"disk", self.disk.inode(DEVICE, 0, [0x0801])),
                       (b"begun", self.disk.inode(0, 0, [])), (b"good", self.disk.file()))
        self.assertEqual(self.bring(), (0, "", {"good": b"text"}))

    def test_numbers_that_there_are_not(self):
        for pointers in ([0xffffffff], [20_000], [0] * 12 + [17_408], [0] * 13 + [0xfffffff0]):
            self.disk.root((b"f", self.disk.inode(FILE, 40 << 20, pointers)))
            self.refused("Input/output error", "f")
        for number in (16_385, 0x80000000, 0xffffffff):
            self.disk.root((b"f", number))
            self.refused("Input/output error", "f")
        self.disk.root((b"f", self.disk.inode(FILE, 1 << 62, [])))
        self.refused("File too large", "f")
        self.disk.root((b"d", self.disk.inode(FOLDER, BLOCK, [0])))
        self.refused("Input/output error", "d")
        self.disk.inode(FILE, 0, [], ROOT)
        self.refused("Input/output error", "all")

    def test_entries_that_are_none(self):
        for step, length in ((0, 1), (4, 1), (12, 9), (4100, 1), (65535, 255), (4092, 1)):
            bad = struct.pack("<IHBB", self.disk.file(), step, length, 0)
            self.disk.inode(FOLDER, BLOCK, [self.disk.block(bad)], ROOT)
            self.assertEqual(self.bring()[0], 3, (step, length))

    def test_folders_that_contain_themselves(self):
        self.disk.root((b"d", ROOT))
        self.assertEqual(len(self.refused("folders are nested too deeply", "d")), 500)
        self.disk.root(*((f"{i}".encode(), ROOT) for i in range(100)))
        self.assertLessEqual(len(self.bring()[2]), 16_384)

    def test_files_that_share_their_blocks(self):
        """128 MiB come, and the rest does not."""
        block = self.disk.block(b"x" * BLOCK)
        shared = self.disk.block(struct.pack("<1024I", *[block] * 1024))
        one = self.disk.inode(FILE, 1036 * BLOCK, [block] * 12 + [shared])
        self.disk.root(*((f"{i}".encode(), one) for i in range(40)))
        brought = self.refused("there is more than /out may hold", "31")
        self.assertEqual(len(brought), 40)

    def test_a_folder_of_empty_blocks(self):
        empty = self.disk.block(struct.pack("<IHBB", 0, BLOCK, 0, 0))
        pointers = self.disk.block(struct.pack("<1024I", *[empty] * 1024))
        twice = self.disk.block(struct.pack("<1024I", *[pointers] * 1024))
        large = self.disk.inode(FOLDER, 0xfffff000, [empty] * 12 + [pointers, twice])
        self.disk.root(*((f"{i}".encode(), large) for i in range(50)))
        self.assertEqual(self.bring()[0], 3)

    def test_any_bytes(self):
        random_bytes = random.Random(41)
        self.disk.root((b"a", self.disk.folder((b"f", self.disk.file()), (b"g", self.disk.file()))),
                       (b"b", self.disk.file()))
        good = bytes(self.disk.bytes)
        for _ in range(60):
            self.disk.bytes = bytearray(good)
            for _ in range(random_bytes.choice((3, 30, 300))):
                place = random_bytes.choice((TABLE * BLOCK + random_bytes.randrange(30 * INODE),
                                             2000 * BLOCK + random_bytes.randrange(8 * BLOCK)))
                self.disk.bytes[place] = random_bytes.choice((0, 1, 2, 0x41, 0x80, 0xff,
                                                              random_bytes.randrange(256)))
            self.bring()


if __name__ == "__main__":
    unittest.main()
