"""A systemd with services of its own, in namespaces: its processes, mounts and control groups are seen by no other."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import children

FILES = "/mnt/files"
"""Where the files of the test are inside."""
ACCOUNT = 4711
"""Whose the service is."""
_PATIENCE = 60.0
_BOOT = f"""
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/changed /mnt/work /mnt/files && mount --bind "$FILES" /mnt/files
for place in /run /tmp /var/tmp /opt /lib/systemd/system; do mount -t tmpfs tmpfs $place; done
mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/changed,workdir=/mnt/work /etc
rm -rf /etc/systemd
echo 'dpsql:x:{ACCOUNT}:{ACCOUNT}::/nonexistent:/usr/sbin/nologin' >> /etc/passwd
echo 'dpsql:x:{ACCOUNT}:' >> /etc/group
cp -r /mnt/files/etc /
mount --bind /mnt/files/lib /var/lib
mkdir -p /opt/python /opt/dpsql/bin /opt/dpsql/lib
mount --bind "$PYTHON" /opt/python && mount --bind "$PROGRAMS/lib" /opt/dpsql/lib
echo /opt/python/lib > /etc/ld.so.conf.d/0.conf && ldconfig -C /etc/ld.so.cache
ln -s /opt/python/bin/python3 /opt/dpsql/bin/python && echo 'home = /opt/python/bin' > /opt/dpsql/pyvenv.cfg
sed '1c #!/opt/dpsql/bin/python' "$PROGRAMS/bin/dpsql" > /opt/dpsql/bin/dpsql && chmod 755 /opt/dpsql/bin/dpsql
for target in sysinit basic network-online shutdown tried; do
  printf '[Unit]\\nDefaultDependencies=no\\nAllowIsolate=yes\\n' > /lib/systemd/system/$target.target
done
cp /mnt/files/dpsql.service /lib/systemd/system/
mkdir /lib/systemd/system/dpsql.service.d
printf '[Service]\\nStandardOutput=append:/mnt/files/said\\n' > /lib/systemd/system/dpsql.service.d/log.conf
umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/tried && echo 0 > /sys/fs/cgroup/tried/cgroup.procs
exec unshare --cgroup sh -ec 'umount /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
  exec env -i container=namespace PATH="$PATH" /lib/systemd/systemd --system --unit=tried.target --log-target=console'
"""
"""What the first process does before it becomes systemd.

The machine's files are seen, but what is written goes to directories of its own; there is no unit but dpsql's, since others,
such as the one that empties /tmp, would change the machine. $FILES/etc is put into /etc, $FILES/lib is /var/lib, and what the
service says is in $FILES/said, for there is no journal. Python and dpsql are in /opt, since a home is closed to the service.
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """What is booted."""

    init: int
    """systemd's process, as the processes outside number it."""
    files: Path

    def systemctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it inside, as root."""
        inside = ("nsenter", "--target", str(self.init), "--mount", "--pid", "--ipc", "--uts", "--cgroup")
        command = [*inside, "systemctl", "--no-pager", "--no-ask-password", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603

    def property(self, name: str) -> str:
        """Return what systemd says of the service."""
        return self.systemctl("show", "--value", "--property", name, "dpsql.service").stdout.strip()

    def status(self) -> str:
        """Return what systemd shows of the service to people."""
        return self.systemctl("status", "dpsql.service").stdout

    def says(self, what: str) -> None:
        """Wait until the service says something."""
        log, deadline = self.files / "said", time.monotonic() + _PATIENCE
        while what not in (said := log.read_text() if log.exists() else ""):
            assert time.monotonic() < deadline, f"{said}{self.status()}"
            time.sleep(0.1)

    def comes_to(self, state: str) -> None:
        """Wait until the service is in a state."""
        deadline = time.monotonic() + _PATIENCE
        while (seen := self.property("ActiveState")) != state:
            assert time.monotonic() < deadline, f"{seen}: {self.status()}"
            time.sleep(0.1)


@contextmanager
def booted(files: Path) -> Iterator[Machine]:
    """Boot with the unit `dpsql.service` of `files`."""
    apart = ("unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--ipc", "--uts")
    environment = {**os.environ, "FILES": str(files), "PROGRAMS": sys.prefix, "PYTHON": sys.base_prefix}
    log = files / "boot"
    with log.open("w") as said:
        started = subprocess.Popen([*apart, "sh", "-ec", _BOOT], env=environment, stdout=said, stderr=said)  # noqa: S603
    try:
        deadline = time.monotonic() + _PATIENCE
        while (machine := _answering(started, files)) is None:
            assert time.monotonic() < deadline, log.read_text()
            assert started.poll() is None, log.read_text()
            time.sleep(0.1)
        yield machine
    finally:
        started.kill()  # and with it all that it has started
        started.wait()


def _answering(started: subprocess.Popen[bytes], files: Path) -> Machine | None:
    """Return the systemd that has started, once it answers."""
    machines = (Machine(init, files) for init in children(started.pid))
    return next(
        (machine for machine in machines if machine.systemctl("is-active", "tried.target").returncode == 0), None
    )
