#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Roots of hosts that are images of containers: layers, whiteouts, owners and configuration are those
of the image, and archives of strangers are refused with a sentence. The archives are made here.

Environment: as lab_test.py.
"""
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from lab_test import HAS_QEMU_LINUX, KERNEL, NEEDS_HOSTS, PATIENCE_S, Case

MAKER = KERNEL.parent / "image"
BUSYBOX = shutil.which("busybox", path="/bin:/usr/bin")
NEEDS_MAKER = unittest.skipUnless(MAKER.exists() and BUSYBOX and shutil.which("sqfstar"),
                                  "there is no build/lab/image (./dev lab), busybox or sqfstar")
KINDS = {"folder": tarfile.DIRTYPE, "link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE,
         "device": tarfile.CHRTYPE, "fifo": tarfile.FIFOTYPE}


def layer(*files):
    """A tar of (name, content or kind, target, owner)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, what, *more in files:
            one = tarfile.TarInfo(name)
            one.mode, one.mtime = 0o755, 1_000_000_000
            one.uid = one.gid = more[1] if len(more) > 1 else 0
            if isinstance(what, bytes):
                one.size = len(what)
                archive.addfile(one, io.BytesIO(what))
            else:
                one.type, one.linkname = KINDS[what], more[0] if more else ""
                archive.addfile(one)
    return out.getvalue()


def base(*more):
    busybox = Path(BUSYBOX).read_bytes()
    return layer(("bin", "folder"), ("bin/busybox", busybox),
                 *((f"bin/{name}", "link", "busybox") for name in
                   ("sh", "ip", "sleep", "id", "cat", "ping", "stat", "ls", "mount", "env", "pwd")),
                 ("etc", "folder"), ("srv", "folder", "", 33),
                 ("etc/passwd", b"root:x:0:0::/root:/bin/sh\nweb:x:33:34::/srv:/bin/sh\n"),
                 ("etc/group", b"web:x:34:\nothers:x:35:web\n"), *more)


def config(**changes):
    return {"os": "linux", "architecture": "amd64", "config": {}, **changes}


def archive(path, files):
    with tarfile.open(path, "w") as out:
        for name, content in files:
            one = tarfile.TarInfo(name)
            one.size = len(content)
            out.addfile(one, io.BytesIO(content))


def docker(path, layers, of=None):
    archive(path, [*((f"{i}/layer.tar", one) for i, one in enumerate(layers)),
                   ("config.json", json.dumps(of or config()).encode()),
                   ("manifest.json", json.dumps([{"Config": "config.json", "RepoTags": None, "Layers":
                                                  [f"{i}/layer.tar" for i in range(len(layers))]}])
                    .encode())])


def oci(path, layers, of=None, spoil=b""):
    """An OCI image layout, whose index leads to an index for several architectures."""
    blobs = {}

    def blob(content, **more):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content + (spoil if content in layers else b"")
        return {"digest": f"sha256:{digest}", "size": len(content), **more}

    image = json.dumps({"schemaVersion": 2, "config": blob(json.dumps(of or config()).encode()),
                        "layers": [blob(one) for one in layers]}).encode()
    other = blob(b"{}", platform={"os": "linux", "architecture": "arm64"})
    index = json.dumps({"manifests": [other, blob(image, platform={"os": "linux",
                                                                   "architecture": "amd64"})]})
    archive(path, [("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'),
                   ("index.json", json.dumps({"manifests": [blob(index.encode())]}).encode()),
                   *blobs.items()])


class ImageCase(Case):
    def make(self, path):
        to = Path(tempfile.mkdtemp(dir=self.folder))
        done = subprocess.run([MAKER, path, to, "amd64"], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        return done, to

    def listing(self, to):
        """Paths with mode, owners and size."""
        text = subprocess.run(["unsquashfs", "-lln", to / "root"], capture_output=True, text=True,
                              check=True).stdout
        rows = {}
        for line in text.splitlines():
            mode, owner, size, _, _, name = line.split(None, 5)
            rows[name.removeprefix("squashfs-root").split(" -> ")[0]] = (mode, owner, int(size))
        return rows


@NEEDS_MAKER
class Images(ImageCase):
    UPPER = [("a/.wh..wh..opq", b""), ("a/new", b"new", "", 7), (".wh.gone", b""),
             (".wh.folder", b""), ("file/now/a/folder", b"1"), ("twin", b"other"),
             ("folder", "folder"), ("folder/back", b"back")]

    def test_layers_lie_one_over_another(self):
        lower = base(("a", "folder"), ("a/old", b"old"), ("gone", b"gone"), ("folder", "folder"),
                     ("folder/below", b"below"), ("file", b"file"), ("twin", b"twin"),
                     ("brother", "hard", "twin"), ("null", "device"), ("pipe", "fifo"),
                     ("out", "link", "../../etc/passwd"), ("x" * 200 + "/" + "y" * 200, b"long"))
        said = []
        for write in (docker, oci):
            for zipped in (False, True):
                layers = [gzip.compress(one, mtime=0) if zipped else one
                          for one in (lower, layer(*self.UPPER))]
                write(self.folder / "image.tar", layers)
                done, to = self.make(self.folder / "image.tar")
                self.assertEqual(done.returncode, 0, done.stderr)
                said.append((to / "root").read_bytes())
        self.assertEqual(len(set(said)), 1, "the same image in each form")
        rows = self.listing(to)
        for name in ("/a/old", "/gone", "/folder/below", "/null"):
            self.assertNotIn(name, rows)
        self.assertEqual(rows["/a/new"], ("-rwxr-xr-x", "7/7", 3))
        self.assertEqual(rows["/srv"][1], "33/33")
        self.assertEqual(rows["/file/now/a/folder"][2], 1)
        self.assertEqual((rows["/twin"][2], rows["/brother"][2]), (5, 4))
        self.assertEqual(rows["/folder/back"][2], 4)
        self.assertIn("/" + "x" * 200 + "/" + "y" * 200, rows)
        self.assertTrue(rows["/pipe"][0].startswith("p") and rows["/out"][0].startswith("l"))

    def test_what_is_no_image_is_refused(self):
        path = self.folder / "image.tar"

        def refused(why, write=None):
            if write is not None:
                write()
            done, to = self.make(path)
            self.assertEqual(done.returncode, 2, why)
            self.assertRegex(done.stderr, r"\A[^\n]+\n\Z")
            self.assertIn(why, done.stderr)

        def of(*files, **changes):
            return lambda: docker(path, [base(), layer(*files)], config(**changes))

        refused("it is no tar", lambda: path.write_bytes(b"no archive at all\n" * 100))
        refused("neither a manifest.json (docker save) nor an index.json (OCI)",
                lambda: archive(path, [("file", b"1")]))
        manifest = {"Config": "c", "Layers": ["l"]}
        for why, files in (
                ("holds 2 images", [("manifest.json", json.dumps([manifest] * 2).encode())]),
                ("'c' is missing in it", [("manifest.json", json.dumps([manifest]).encode())]),
                ("'l' is missing in it", [("manifest.json", json.dumps([manifest]).encode()),
                                          ("c", json.dumps(config()).encode())]),
                ("lacks what an image has", [("manifest.json", b"[7]")]),
                ("lacks what an image has", [("index.json", b"{}")]),
                ("'manifest.json' in it is no JSON", [("manifest.json", b"[" * 1000)]),
                ("leads out of the image by '..'", [("../manifest.json", b"[]")]),
                ("'sha256:../../x' is no SHA-256",
                 [("index.json", b'{"manifests": [{"digest": "sha256:../../x"}]}')]),
                ("0 layers", [("manifest.json", b'[{"Config": "c", "Layers": []}]'),
                              ("c", json.dumps(config()).encode())])):
            refused(why, lambda files=files: archive(path, files))
        refused("linux on arm64, and the host runs linux on amd64", of(architecture="arm64"))
        refused("its 'Env' is no list", of(config={"Env": "text"}))
        refused("lacks what an image has", of(config={"Env": [1]}))
        refused("has a zero byte", of(config={"Env": ["a=\0"]}))
        refused("the file '../../etc/x' leads out of the image", of(("../../etc/x", b"1")))
        refused("the link to '../x' leads out", of(("a", "hard", "../x")))
        refused("which is no file of the image", of(("a", "hard", "nothing")))
        refused("longer path than Linux takes", of(("a" * 300, b"1")))
        refused("longer path than Linux takes", of(("a/" * 3000 + "b", b"1")))
        refused("no /bin/sh", of(("bin/sh", "link", "sh")))
        refused("no /bin/sh", of(("bin/.wh.sh", b"")))
        refused("more than 16 GiB", lambda: docker(path, [base(), self.large_header()]))
        refused("cannot be read", lambda: docker(path, [base()[:-100_000]]))
        refused("is damaged: it has another SHA-256",
                lambda: oci(path, [base()], spoil=b"\0" * 512))
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) // 2])
        refused("cannot be read")

    def large_header(self):
        one = tarfile.TarInfo("large")
        one.size = 17 << 30
        return one.tobuf(tarfile.GNU_FORMAT)


@NEEDS_HOSTS
@NEEDS_MAKER
class ImageHosts(ImageCase):
    TOPOLOGY = """
[[host]]
name = "a"
root = "{root}"
setup = ["echo $GREETING; id -u; stat -c '%n %u' /srv /root.txt 2>&1; cat /etc/hosts"]
[[host.program]]
[[host.program]]
at = "500ms"
user = "web"
command = "id; pwd; cat /gone || echo no more"
[[host.program]]
at = "600ms"
command = "ping -c 2 b"
[[host]]
name = "b"
[[host.program]]
command = "sleep 3"
[[link]]
between = ["a", "b"]
addresses = ["10.0.0.1/24", "10.0.0.2/24"]
delay = "10ms"
"""

    def run_image(self, of=None, window="1s", write=docker, root="image.tar"):
        layers = [base(("gone", b"gone")), layer((".wh.gone", b""), ("root.txt", b"1", "", 1234))]
        if not (self.folder / root).exists():
            write(self.folder / root, layers, of)
        topology = self.folder / "image.toml"
        topology.write_text(self.TOPOLOGY.format(root=root))
        return self.run_lab(topology, f"window={window}")

    def test_a_host_runs_its_image(self):
        of = config(config={"Env": ["GREETING=it's me", "PATH=/bin", "not a name=1"], "User": "33:others",
                            "Entrypoint": ["/bin/sh", "-c"], "WorkingDir": "/not/yet/there",
                            "Cmd": ["id; pwd; echo $0 $GREETING"]})
        said = {(tuple(self.fingerprint(self.run_image(of, window))), self.console("a"))
                for window in ("1s", "3ms")}
        self.assertEqual(len(said), 1)
        (_, console), = said
        for line in ("it's me", "/srv 33", "/root.txt 1234", "uid=33(web) gid=35(others)", "/not/yet/there",
                     "/bin/sh it's me", "uid=33(web) gid=34(web) groups=34(web),35(others)",
                     "2 packets transmitted, 2 packets received, 0% packet loss", "no more"):
            self.assertIn(line, console)
        self.assertIn("10.0.0.2 b", console.replace("\t", " "))
        executed = (self.folder / "hosts/executed.csv").read_text()
        self.assertIn('"/bin/busybox",root,', executed)
        self.assertRegex(executed, r'"root",root,"?[0-9a-f]{64}')

    @unittest.skipUnless(HAS_QEMU_LINUX, "there is no QEMU with Linux (./dev lab --qemu)")
    def test_a_counted_host_runs_its_image(self):
        of = config(config={"Env": ["GREETING=hello"], "Cmd": ["/bin/sh", "-c", "id; echo $GREETING"],
                            "User": "web"})
        counted = self.TOPOLOGY.replace('root = "{root}"', """root = "{root}"
machine = "qemu"
arch = "x86_64"
speed = "1 GHz" """)
        self.TOPOLOGY = counted.replace("sleep 3", "sleep 9")
        self.fingerprint(self.run_image(of))
        for line in ("/srv 33", "uid=33(web) gid=34(web) groups=34(web),35(others)\nhello",
                     "2 packets transmitted, 2 packets received, 0% packet loss", "no more"):
            self.assertIn(line, self.console("a").replace("\r", ""))

    def test_a_squashfs_is_a_root(self):
        docker(self.folder / "image.tar", [base(("gone", b"gone"))])
        done, to = self.make(self.folder / "image.tar")
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.copy(to / "root", self.folder / "root.squashfs")
        topology = self.folder / "image.toml"
        topology.write_text(self.TOPOLOGY.format(root="root.squashfs").replace("[[host.program]]\n", "", 1))
        self.fingerprint(self.run_lab(topology))
        self.assertIn("0% packet loss", self.console("a"))
        self.assertNotIn("no more", self.console("a"))

    def test_what_it_lacks_is_told(self):
        self.assertIn("'" + str(self.folder) + "/image.tar' has none", self.run_image().stderr)
        (self.folder / "image.tar").write_bytes(b"no archive\n" * 100)
        done = self.run_image()
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"the root '{self.folder}/image.tar': it is no tar", done.stderr)
        left = [one for one in os.listdir(KERNEL.parent / "roots") if "." in one]
        self.assertEqual(left, [], "nothing half made is kept")


if __name__ == "__main__":
    unittest.main()
