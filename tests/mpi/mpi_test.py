# SPDX-License-Identifier: Apache-2.0
"""Ranks under a real mpirun: mpi_test.py ranks|collage_run MODULES MPI_RANKS BIN

`ranks` runs the program mpi_ranks: messages and requests arrive, and whatever becomes of a rank, all end within 10 s with the
reason. `collage_run` runs packages. Each MPI that the build has a module for is tried; exit code 77 where there is none.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

MODULES = RANKS = BIN = ""
LAUNCHERS = []  # (module, command)
LONGEST_END = 10  # seconds from a failure to the end of all

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


def find_launchers():
    for module, marker in (("openmpi", "Open MPI|OpenRTE"), ("mpich", "HYDRA|MPICH")):
        if not os.path.exists(f"{MODULES}/collage_mpi_{module}.so"):
            print(f"skipped: this build has no module for {module}")
            continue
        for command in (f"mpirun.{module}", "mpirun"):
            path = shutil.which(command)
            version = path and subprocess.run([path, "--version"], capture_output=True, text=True, env=ENVIRONMENT).stdout
            if path and re.search(marker, version):
                LAUNCHERS.append((module, [path] + (["--oversubscribe"] if module == "openmpi" else [])))
                break
        else:
            print(f"skipped: there is no mpirun of {module}")


def run(launcher, ranks, command, timeout=120):
    done = subprocess.run(launcher + ["-n", str(ranks)] + command, capture_output=True, text=True, env=ENVIRONMENT, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


class Ranks(unittest.TestCase):
    def each(self):
        return [launcher for _, launcher in LAUNCHERS]

    def test_messages_of_several_pieces_arrive(self):
        for launcher in self.each():
            for ranks in (2, 4):
                code, out, err = run(launcher, ranks, [RANKS, MODULES, "messages"])
                self.assertEqual(code, 0, out + err)
                self.assertIn("messages are right", out)

    def test_requests_are_answered(self):
        for launcher in self.each():
            for ranks in (2, 3, 4):
                code, out, err = run(launcher, ranks, [RANKS, MODULES, "requests"])
                self.assertEqual(code, 0, out + err)
                self.assertIn("right answers: 50", out)

    def end_of(self, launcher, what, act=None):
        """Code, output, and seconds from the moment when all ranks were there."""
        ranks = subprocess.Popen(launcher + ["-n", "3", RANKS, MODULES, what], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, env=ENVIRONMENT)
        watchdog = threading.Timer(60, ranks.kill)
        watchdog.start()
        try:
            pids, text = [], ""
            while not pids:
                line = ranks.stdout.readline()
                self.assertTrue(line, "the ranks ended before they had begun: " + text)
                text += line
                found = re.search(r"pids (\d+) (\d+) (\d+)", line)
                if found:
                    pids = [int(pid) for pid in found.groups()]
            start = time.monotonic()
            if act:
                act(pids)
            rest = ranks.stdout.read()
            ranks.wait()
            # Some mpirun end a little before the processes that they have killed.
            while any(map(is_alive, pids)) and time.monotonic() - start < LONGEST_END:
                time.sleep(0.1)
            seconds = time.monotonic() - start
        finally:
            watchdog.cancel()
            ranks.kill()
            ranks.wait()
            ranks.stdout.close()
        return ranks.returncode, text + rest, seconds

    def check_end(self, what, pattern, act=None):
        for launcher in self.each():
            code, text, seconds = self.end_of(launcher, what, act)
            self.assertNotEqual(code, 0, text)
            self.assertRegex(text, pattern)
            self.assertLess(seconds, LONGEST_END, text)

    def test_a_rank_that_fails_ends_all(self):
        self.check_end("fail", r"error: rank [02]: rank 1 on \S+: no memory")

    def test_a_rank_that_does_not_return_ends_all(self):
        self.check_end("stuck", r"error: rank [02]: rank 1 on \S+: a kernel does not return")

    def test_a_stopped_rank_ends_all(self):
        self.check_end("stop", r"error: rank [02]: rank 1 has not answered for \d+ s")

    def test_a_stopped_first_rank_ends_all(self):
        self.check_end("stop_first", r"error: rank [12]: rank 0 has not answered for \d+ s")

    def test_a_killed_rank_ends_all(self):
        self.check_end("wait", r"(?i)signal 9|killed|has not answered", lambda pids: os.kill(pids[1], signal.SIGKILL))

    def test_a_killed_first_rank_ends_all(self):
        self.check_end("wait", r"(?i)signal 9|killed|has not answered", lambda pids: os.kill(pids[0], signal.SIGKILL))

    def test_a_value_that_does_not_come_ends_all(self):
        self.check_end("late", r"waited 1 s for a value that nobody sends")


def is_alive(pid):
    """Not of a process that has ended and that nobody has waited for."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


MODEL = """model @two(%x: f32[8, 16]) -> (%y: f32[8, 16]) {
  %a = Neg(%x)
  %b = partition @p0 on onednn(host[1]) (%a) {
    %b = Relu(%a)
  }
  %y = Add(%b, %x)
}
"""
CLUSTER = """rules 1
switch lan {}
cluster pair {
  host count 2 {
    memory 1 GiB
    link lan bandwidth 10 GB/s latency 5 us duplex
  }
}
"""
OTHER_MODEL = MODEL.replace("16", "32")
ONE_HOST = """model @one(%x: f32[8, 16]) -> (%y: f32[8, 16]) {
  %y = Neg(%x)
}
"""


class CollageRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = lambda _, name: os.path.join(cls.folder.name, name)
        for name, text in (("two.ir", MODEL), ("other.ir", OTHER_MODEL), ("pair.rules", CLUSTER), ("one.ir", ONE_HOST)):
            with open(os.path.join(cls.folder.name, name), "w") as file:
                file.write(text)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compile(self, model, package, *rules):
        command = [f"{BIN}/collagec", "check", self.path(model), "-o", self.path(package)]
        for rule in rules:
            command += ["-r", rule]
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def compile_two(self):
        self.compile("two.ir", "two.collage", "rules/onednn.rules", self.path("pair.rules"))
        return [f"{BIN}/collage-run", self.path("two.collage")]

    def test_two_hosts_give_the_bits_of_one_process(self):
        command = self.compile_two()
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, out, err = run(launcher, 2, command + ["--check"])
                self.assertEqual(code, 0, out + err)
                self.assertEqual(out.count("every bit is the same"), 1, out)

    def test_one_document_tells_of_all_ranks(self):
        command = self.compile_two()
        trace = self.path("trace.json")
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, out, err = run(launcher, 2, command + ["--bench", "5", "--requests", "3", "--json", "--trace", trace])
                self.assertEqual(code, 0, out + err)
                document = json.loads(out)
                self.assertEqual(document["hosts"], 2)
                self.assertEqual(document["requests"]["in_flight"], 3)
                self.assertGreater(document["cluster"]["predicted_per_second"], 0)
                ranks = document["cluster"]["ranks"]
                self.assertEqual([rank["host"] for rank in ranks], ["host", "host[1]"])
                self.assertGreater(ranks[0]["sent_bytes"], 0)
                self.assertEqual(ranks[0]["sent_bytes"], ranks[1]["received_bytes"])
                with open(trace) as file:
                    events = json.load(file)["traceEvents"]
                names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
                self.assertLessEqual({"host", "host[1]", "host to host[1]", "host[1] from host"}, names)

    def end_of(self, launcher, ranks, script, *words):
        """Code, output and seconds of ranks that run a shell script; `$RANK` is the number of each."""
        script = "RANK=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; " + script
        start = time.monotonic()
        code, out, err = run(launcher, ranks, ["/bin/sh", "-c", script, "sh", *words])
        return code, out + err, time.monotonic() - start

    def test_a_package_that_one_rank_lacks_ends_all(self):
        command = self.compile_two()
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, text, seconds = self.end_of(launcher, 2, 'if [ "$RANK" = 1 ]; then exec "$1" "$2.missing"; fi; exec "$@"', *command)
                self.assertNotEqual(code, 0, text)
                self.assertRegex(text, r"error: rank 1 on \S+: cannot read: No such file")
                self.assertEqual(text.count("No such file"), 1, text)
                self.assertLess(seconds, LONGEST_END, text)

    def test_ranks_with_different_packages_end(self):
        command = self.compile_two()
        self.compile("other.ir", "other.collage", "rules/onednn.rules", self.path("pair.rules"))
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, text, seconds = self.end_of(launcher, 2, 'if [ "$RANK" = 1 ]; then exec "$1" "$3"; else exec "$1" "$2"; fi', *command,
                                                  self.path("other.collage"))
                self.assertNotEqual(code, 0, text)
                self.assertRegex(text, r"rank 1 on \S+ has `package .*all ranks need the same file")
                self.assertLess(seconds, LONGEST_END, text)

    def test_a_missing_package_is_said_once(self):
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, out, err = run(launcher, 2, [f"{BIN}/collage-run", self.path("nowhere.collage")])
                self.assertNotEqual(code, 0)
                self.assertEqual((out + err).count("cannot read"), 1, out + err)

    def test_a_missing_input_is_said_once(self):
        command = self.compile_two()
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, text, seconds = self.end_of(launcher, 2, 'exec "$@"', *command, "--input", "x=" + self.path("nowhere.npy"))
                self.assertNotEqual(code, 0, text)
                self.assertEqual(text.count("nowhere.npy"), 1, text)
                self.assertLess(seconds, LONGEST_END, text)

    def test_nothing_is_reported_of_runs_that_were_not_made(self):
        command = self.compile_two()
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                trace = self.path("not_made.json")
                code, out, err = run(launcher, 2, [*command, "--bench", "2", "--trace", trace, "--input", "x=" + self.path("nowhere.npy")])
                self.assertNotEqual(code, 0)
                self.assertNotIn("hosts ", out)
                self.assertFalse(os.path.exists(trace))

    def test_a_folder_that_is_missing_is_said_before_the_runs(self):
        command = self.compile_two()
        for module, launcher in LAUNCHERS:
            for option in ("--trace", "--bench-json"):
                with self.subTest(module + ": " + option):
                    code, out, err = run(launcher, 2, [*command, "--bench", "2", option, self.path("nowhere/written.json")])
                    self.assertNotEqual(code, 0)
                    self.assertEqual((out + err).count("is no folder"), 1, out + err)
                    self.assertNotIn("bench ", out)

    def test_a_rank_that_does_not_start_ends_all(self):
        command = self.compile_two()
        for module, launcher in LAUNCHERS:
            for act, limit in (("kill -STOP $$", "2"), ("exit 1", "2.5")):
                with self.subTest(module + ": " + act):
                    code, text, seconds = self.end_of(launcher, 2, f'if [ "$RANK" = 1 ]; then {act}; fi; exec "$@" --start-timeout {limit}',
                                                      *command)
                    self.assertNotEqual(code, 0, text)
                    if act != "exit 1":  # of which OpenMPI's mpirun hears itself
                        self.assertIn(f"MPI did not start within {limit} s", text)
                    self.assertLess(seconds, LONGEST_END, text)

    def test_times_are_fractions_of_seconds_too(self):
        command = self.compile_two()
        for wrong in ("-1", "nan", "1e9", "soon"):
            for option in ("--timeout", "--start-timeout"):
                done = subprocess.run(command + [option, wrong], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{option}: `{wrong}` is no number of seconds from 0 to 1000000", done.stderr)
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, out, err = run(launcher, 2, command + ["--check", "--timeout", "7.5", "--start-timeout", "8.25"])
                self.assertEqual(code, 0, out + err)

    def test_links_are_measured_and_written(self):
        text = "rules 1\nswitch lan {}\ncluster pair {\n  host count 2 { memory 1 GiB link lan bandwidth 7 GB/s latency 9 ms duplex }  // two\n}\n"
        for _, launcher in LAUNCHERS:
            with open(self.path("links.rules"), "w") as file:
                file.write(text)
            code, out, err = run(launcher, 2, [f"{BIN}/collagec", "measure-links", self.path("links.rules")])
            self.assertEqual(code, 0, out + err)
            self.assertRegex(out, r"measured +host - host\[1\]: [0-9.e+]+ [num]?s, [0-9.e+]+ GB/s")
            with open(self.path("links.rules")) as file:
                written = file.read()
            self.assertRegex(written, r"memory 1 GiB link lan bandwidth [0-9.]+ [KMG]?B/s latency [0-9.]+ [mun]?s duplex }  // two\n")
            self.assertNotIn("7 GB/s latency 9 ms", written)

    def test_rules_that_cannot_be_read_are_said_once(self):
        for _, launcher in LAUNCHERS:
            code, out, err = run(launcher, 2, [f"{BIN}/collagec", "measure-links", self.path("nowhere.rules")])
            self.assertNotEqual(code, 0, out + err)
            self.assertEqual((out + err).count("nowhere.rules"), 1, out + err)

    def test_the_number_of_ranks_is_that_of_the_hosts(self):
        command = self.compile_two()
        alone = subprocess.run(command, capture_output=True, text=True, timeout=60,
                               env={name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI"))})
        self.assertEqual(alone.returncode, 1)
        self.assertIn("is for 2 hosts, and this is one process: `mpirun -n 2 collage-run", alone.stderr)
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, out, err = run(launcher, 3, command)
                self.assertNotEqual(code, 0)
                self.assertIn("is for 2 hosts, and mpirun started 3", out + err)

    def test_a_package_of_one_host_is_not_run_by_each_rank(self):
        self.compile("one.ir", "one.collage")
        command = [f"{BIN}/collage-run", self.path("one.collage"), "--check"]
        for module, launcher in LAUNCHERS:
            with self.subTest(module):
                code, out, err = run(launcher, 2, command)
                self.assertNotEqual(code, 0)
                self.assertIn("is for one host", out + err)
                code, out, err = run(launcher, 1, command)
                self.assertEqual(code, 0, out + err)


def main():
    global MODULES, RANKS, BIN
    what, MODULES, RANKS, BIN = sys.argv[1:]
    find_launchers()
    if not LAUNCHERS:
        sys.exit(77)
    suite = unittest.defaultTestLoader.loadTestsFromTestCase({"ranks": Ranks, "collage_run": CollageRun}[what])
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())


if __name__ == "__main__":
    main()
