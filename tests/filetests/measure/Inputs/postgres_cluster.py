# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server in a temporary folder, reached by a Unix socket alone:

    with Cluster() as cluster: … cluster.address("costs") …

It ends with this process, however that ends. PostgreSQL refuses to run as root, so that root runs it as nobody."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time


def programs():
    """The folder of the newest PostgreSQL; None without one."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    initdb = found[-1] if found else shutil.which("initdb")
    if not initdb or not shutil.which("setpriv"):
        return None
    folder = os.path.dirname(os.path.realpath(initdb))
    return folder if os.path.exists(os.path.join(folder, "postgres")) else None


class Cluster:
    PATIENCE = 60  # seconds for its start

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="collage_postgres_", dir="/tmp")  # names of sockets are short
        self.as_user = ["setpriv"]
        if os.geteuid() == 0:
            self.as_user += ["--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            shutil.chown(self.folder, "nobody")
        self.data = os.path.join(self.folder, "data")
        self.server = None

    def __enter__(self):
        subprocess.run([*self.as_user, os.path.join(programs(), "initdb"), "-D", self.data, "-U", "postgres", "-A", "trust", "-N",
                        "-E", "UTF8", "--no-locale"], check=True, stdout=subprocess.DEVNULL)
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        command = [self.as_user[0], "--pdeathsig", "QUIT", *self.as_user[1:], os.path.join(programs(), "postgres"), "-D", self.data,
                   "-k", self.folder, "-h", "", "-F"]
        with open(os.path.join(self.folder, "log"), "a") as log:
            self.server = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + self.PATIENCE
        while "accepting" not in self.ask("pg_isready", "-h", self.folder):
            if time.monotonic() > end or self.server.poll() is not None:
                raise RuntimeError(open(os.path.join(self.folder, "log")).read())
            time.sleep(0.05)

    def processes(self):
        """The first process of the server, and those that it started."""
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children") as file:
            return [self.server.pid] + [int(word) for word in file.read().split()]

    def stop(self):
        """As a crash does, also if its processes were stopped."""
        if self.server is not None:
            for process in reversed(self.processes()):
                try:
                    os.kill(process, signal.SIGCONT)
                except ProcessLookupError:
                    pass  # it has ended
            self.server.send_signal(signal.SIGQUIT)
            self.server.wait()
            self.server = None

    def ask(self, program, *arguments):
        return subprocess.run([os.path.join(programs(), program), *arguments], capture_output=True, text=True).stdout

    def run(self, statements, database="postgres"):
        """What `psql` prints of statements, without decoration."""
        return self.ask("psql", "-h", self.folder, "-U", "postgres", "-d", database, "-XAtq", "-c", statements)

    def address(self, database, user="postgres", more=""):
        """With a password, which the server does not ask for: nobody should see it."""
        return f"postgresql://{user}:secret@/{database}?host={self.folder}{more}"
