# SPDX-License-Identifier: MIT
"""The surroundings of a scenario: servers, mounts, disks, limits, networks and neighbours.

A World owns all that it makes, under names that hold its process number, and takes it down in
reverse order on close(), whatever happened. Helpers also die with this process (setpriv
--pdeathsig, or their standard input closing), so that not even SIGKILL leaves one running; the
mounts, namespaces and groups that it does leave are swept away by the next run.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class Unavailable(Exception):
    """This machine cannot do what the scenario needs; the text says what is missing."""


def sh(*argv, check=True):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if check and done.returncode:
        raise Unavailable(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def drop_cache(folder):
    """Forgets the cached pages of every file in the folder."""
    for entry in os.scandir(folder):
        if entry.is_file():
            fd = os.open(entry.path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def fill(folder, files, size):
    """Makes item000000.. of random bytes (random: nothing below can store them smaller)."""
    os.makedirs(folder, exist_ok=True)
    for i in range(files):
        with open(os.path.join(folder, f"item{i:06d}"), "wb") as out:
            out.write(os.urandom(size))
    os.sync()


def orphaned(name):
    """Does this name hold the number of a World's process that is gone?"""
    owner = re.match(r"gpufeed(\d+)-", os.path.basename(name))
    return bool(owner) and not os.path.exists(f"/proc/{owner.group(1)}")


def begin(what):
    """For a program that makes worlds: as root only; SIGTERM unwinds them; what others left is swept away."""
    if os.geteuid():
        print(f"SKIP: {what}")
        sys.exit(77)

    def interrupted(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, interrupted)
    sweep()


def sweep():
    """Takes down what killed runs left behind."""
    for tmp in filter(orphaned, glob.glob(os.path.join(tempfile.gettempdir(), "gpufeed*-*"))):
        with open("/proc/self/mounts", encoding="utf-8") as f:
            mounts = [line.split()[1] for line in f]
        for mount in reversed(mounts):
            if mount.startswith(tmp + "/"):
                sh("umount", "-l", mount, check=False)
        for line in sh("losetup", "-l", "-n", "-O", "NAME,BACK-FILE", check=False).splitlines():
            device, _, backing = line.partition(" ")
            if backing.strip().startswith(tmp + "/"):
                sh("losetup", "-d", device, check=False)
        shutil.rmtree(tmp, ignore_errors=True)
    for line in sh("ip", "netns", check=False).splitlines():
        if orphaned(line.split()[0]):
            sh("ip", "netns", "del", line.split()[0], check=False)
    for group in filter(orphaned, glob.glob("/sys/fs/cgroup/gpufeed*-*") +
                        glob.glob("/sys/fs/cgroup/*/gpufeed*-*")):
        try:
            os.rmdir(group)
        except OSError as e:
            print(f"cleanup: {group}: {e.strerror}")


class World:
    def __init__(self, tools):
        self.tools = tools  # folder with httpstore and slowfs
        self.undo = []
        self.tag = f"gpufeed{os.getpid()}"
        self.count = 0
        self.tmp = tempfile.mkdtemp(prefix=f"{self.tag}-")
        os.chmod(self.tmp, 0o755)
        self.undo.append(lambda: shutil.rmtree(self.tmp, ignore_errors=True))

    def close(self):
        """Undoes all, last first; neither an error nor a signal keeps the rest from being undone."""
        old = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)}
        while self.undo:
            try:
                self.undo.pop()()
            except Exception as e:
                print(f"cleanup: {e}")
        for s, handler in old.items():
            signal.signal(s, handler)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def folder(self, name, mode=0o755):
        path = os.path.join(self.tmp, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        return path

    def name(self):
        self.count += 1
        return f"{self.tag}-{self.count}"

    def spawn(self, argv, **more):
        p = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *argv], **more)

        def stop():
            p.terminate()
            try:
                p.wait(3)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.undo.append(stop)
        return p

    def tool(self, name):
        path = os.path.join(self.tools, name)
        if not os.path.exists(path):
            raise Unavailable(f"{name} was not built (libfuse3 missing?)")
        return path

    def httpstore(self, latency_us, bandwidth=0):
        p = self.spawn([self.tool("httpstore"), "--latency-us", str(latency_us),
                        "--bandwidth", str(bandwidth)],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return f"http://127.0.0.1:{int(p.stdout.readline())}"

    def slowfs(self, files, size, delay_us, bandwidth=0):
        if not os.path.exists("/dev/fuse"):
            raise Unavailable("/dev/fuse does not exist")
        root, mount = self.folder("origin"), self.folder(f"slow{self.count}")
        fill(root, files, size)
        p = self.spawn([self.tool("slowfs"), "--root", root, "--delay-us", str(delay_us),
                        "--bandwidth", str(bandwidth), mount], stderr=subprocess.DEVNULL)
        self.undo.append(lambda: sh("umount", "-l", mount, check=False))
        self.wait_for(lambda: os.path.ismount(mount), p, "slowfs mounts")
        return mount

    @staticmethod
    def wait_for(ready, process, what):
        for _ in range(500):
            if ready():
                return
            if process.poll() is not None:
                break
            time.sleep(0.01)
        raise Unavailable(f"{what}: did not happen")

    def disk(self, mib):
        """(mount point, "major:minor") of an ext4 file system on a loop device."""
        image = os.path.join(self.tmp, self.name())
        with open(image, "wb") as f:
            f.truncate(mib << 20)
        sh("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", image)
        device = sh("losetup", "--find", "--show", image)
        self.undo.append(lambda: sh("losetup", "-d", device, check=False))
        mount = self.folder("disk-" + os.path.basename(device))
        sh("mount", "-o", "noatime", device, mount)
        self.undo.append(lambda: sh("umount", "-l", mount, check=False))
        os.chmod(mount, 0o777)
        number = os.stat(device).st_rdev
        return mount, f"{os.major(number)}:{os.minor(number)}"

    def throttle(self, number, read_bps=0, write_bps=0):
        """A control group whose reads and writes of the device are limited; returns its folder."""
        v1, v2 = "/sys/fs/cgroup/blkio", next(
            (d for d in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
             if os.path.exists(d + "/cgroup.controllers")), None)
        if os.path.exists(v1 + "/blkio.throttle.read_bps_device"):
            group = self.group(v1)
            for name, bps in (("read", read_bps), ("write", write_bps)):
                if bps:
                    self.put(f"{group}/blkio.throttle.{name}_bps_device", f"{number} {bps}")
            return group
        with open(v2 + "/cgroup.controllers", encoding="ascii") as f:
            if "io" not in f.read().split():
                raise Unavailable("no control group of this machine limits disks")
        self.put(v2 + "/cgroup.subtree_control", "+io")
        group = self.group(v2)
        limits = [f"{k}={v}" for k, v in (("rbps", read_bps), ("wbps", write_bps)) if v]
        self.put(group + "/io.max", " ".join([number, *limits]))
        return group

    def group(self, parent):
        path = os.path.join(parent, self.name())
        os.mkdir(path)

        def remove():
            for _ in range(100):
                try:
                    os.rmdir(path)
                    return
                except OSError:
                    time.sleep(0.05)
            raise OSError(f"{path} stays")
        self.undo.append(remove)
        return path

    @staticmethod
    def put(path, text):
        try:
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        except OSError as e:
            raise Unavailable(f"{path}: {e.strerror}") from e

    def networks(self, rate):
        """Two network namespaces with a link of that rate ("" unlimited); [(name, address)]."""
        names = [self.name(), self.name()]
        links = [f"gf{os.getpid()}a", f"gf{os.getpid()}b"]
        for n in names:
            sh("ip", "netns", "add", n)
            self.undo.append(lambda n=n: sh("ip", "netns", "del", n))
        sh("ip", "link", "add", links[0], "netns", names[0], "type", "veth", "peer", "name",
           links[1], "netns", names[1])
        result = []
        for i, (n, link) in enumerate(zip(names, links)):
            address = f"10.213.7.{i + 1}"
            sh("ip", "-n", n, "addr", "add", address + "/24", "dev", link)
            sh("ip", "-n", n, "link", "set", link, "up")
            sh("ip", "-n", n, "link", "set", "lo", "up")
            if rate:
                sh("tc", "-n", n, "qdisc", "add", "dev", link, "root", "tbf", "rate", rate, "burst",
                   "16kb", "latency", "500ms")
            result.append((n, address, link))
        return result

    def neighbours(self, count):
        """Busy processes that are none of the job's; an end is set in case all else fails."""
        for _ in range(count):
            self.spawn(["timeout", "180", "sh", "-c", "while :; do :; done"])
