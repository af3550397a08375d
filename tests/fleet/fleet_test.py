#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet of workers on one host, with a PostgreSQL server in a temporary folder:

    fleet_test.py BIN SOURCE [--quick] [--only PART]… [--keep]

  boards     a cold ResNet-50, measured by 1, 2 and 4 workers with boards that take real time: time, and the share that workers idle
  kills      workers killed at random while compilers measure: every plan is that of an undisturbed compilation
  cuts       the server restarted, or stopped where it is, and connections cut, in the middle
  compilers  20 compilers at once on one database: one measurement for each key
  claims     claims per second from a queue of 100,000 rows, and the plan of a claim
  cores      kernels of the host measured by 4 workers on the same cores: one after another
  manners    a worker that is stopped gives its work back; what a compiler asked for that was killed is not measured; workers with
             other rules; a machine that nobody announced

BIN has the programs, SOURCE is the project. `--quick` does a little of each. COLLAGE_FLEET_SEED sets the moments and victims. Exit code
77: there is no PostgreSQL here, or this build cannot use it.
"""
import argparse
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 600  # seconds: whoever takes longer hangs
HERE = os.path.dirname(os.path.abspath(__file__))


def fail(what):
    sys.exit(f"fleet: {what} (seed {seed})")


def find_programs():
    """The folder of PostgreSQL's programs; None if it is not installed."""
    base = "/usr/lib/postgresql"
    versions = sorted((name for name in os.listdir(base) if name.isdigit()), key=int) if os.path.isdir(base) else []
    for folder in [os.path.join(base, name, "bin") for name in reversed(versions)] + [os.path.dirname(shutil.which("initdb") or "")]:
        if folder and all(os.path.exists(os.path.join(folder, name)) for name in ("initdb", "pg_ctl", "psql", "pgbench")):
            return folder
    return None


class Server:
    """A cluster in a temporary folder, reached by a Unix socket."""

    def __init__(self, programs):
        self.programs = programs
        self.more = ""  # parameters of the address
        self.folder = tempfile.mkdtemp(prefix="collage_fleet_", dir="/tmp")  # names of sockets are short
        # PostgreSQL refuses to run as root.
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.folder, "nobody")
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale")
        self.start()

    @property
    def data(self):
        return os.path.join(self.folder, "data")

    @property
    def address(self):
        return f"postgresql://postgres@/postgres?host={self.folder}{self.more}"

    def run(self, program, *words):
        # What the server holds open must not be a pipe that this process waits for.
        with open(os.path.join(self.folder, program + ".out"), "w") as out:
            made = subprocess.run(self.user + [os.path.join(self.programs, program), *words], stdout=out, stderr=out, cwd="/",
                                  stdin=subprocess.DEVNULL, timeout=PATIENCE)
        if made.returncode != 0:
            fail(f"{program}: {open(os.path.join(self.folder, program + '.out')).read()}")

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-l", os.path.join(self.folder, "log"), "-w", "-o",
                 f"-k {self.folder} -c listen_addresses= -c max_connections=200", "start")

    def stop(self, mode):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def signal(self, number):
        """To all processes, the first one first."""
        with open(os.path.join(self.data, "postmaster.pid")) as file:
            first = int(file.readline())
        os.kill(first, number)
        with open(f"/proc/{first}/task/{first}/children") as file:
            for child in file.read().split():
                try:
                    os.kill(int(child), number)
                except ProcessLookupError:
                    pass  # it has ended

    def psql(self, text, is_checked=True):
        made = subprocess.run([os.path.join(self.programs, "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", self.address, "-c", text],
                              capture_output=True, text=True, timeout=PATIENCE)
        if is_checked and made.returncode != 0:
            fail(f"{text}: {made.stderr}")
        return made.stdout.strip()

    def number(self, text):
        return float(self.psql(text) or 0)

    def forget_costs(self):
        self.psql("TRUNCATE collage.measurement, collage.job, collage.measured_by CASCADE")


class Workers:
    """Processes of `collage-measure --serve`, of which the dead are replaced until it is closed."""

    def __init__(self, count, rules, seconds, lease=15, more=()):
        self.command = [os.path.join(options.bin, "collage-measure"), "--serve", server.address, "--allow-code", "--lease", str(lease),
                        "--cache", os.path.join(folder, "code"), *more]
        for path in rules:
            self.command += ["-r", path]
        self.environment = {**os.environ, "COLLAGE_BOARD_SECONDS": str(seconds)}
        self.log = open(os.path.join(folder, "workers.log"), "a")
        self.lock = threading.Lock()
        self.is_open = True
        self.ended_badly = []
        server.psql("UPDATE collage.worker SET gone = true")
        self.processes = [self.start(number) for number in range(count)]
        self.keeper = threading.Thread(target=self.keep)
        self.keeper.start()
        self.await_live(count)

    def start(self, number):
        return subprocess.Popen(self.command + ["--name", f"w{number}"], env=self.environment, stderr=self.log, stdin=subprocess.DEVNULL)

    def keep(self):
        while self.is_open:
            with self.lock:
                for number, process in enumerate(self.processes):
                    if process.poll() is None:
                        continue
                    if process.returncode != -signal.SIGKILL:
                        self.ended_badly.append(process.returncode)
                    self.processes[number] = self.start(number)
            time.sleep(0.05)

    def await_live(self, count):
        for _ in range(600):
            if int(server.number("SELECT count(DISTINCT name) FROM collage.worker WHERE NOT gone AND name LIKE 'w%'")) >= count:
                return
            time.sleep(0.1)
        fail("workers do not announce themselves: " + open(os.path.join(folder, "workers.log")).read()[-2000:])

    def kill_one(self):
        with self.lock:
            chance.choice(self.processes).kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_open = False
        self.keeper.join()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            # One that was killed has no successor any more; one that had just started does not know the signal yet.
            if process.wait(timeout=60) not in (0, -signal.SIGKILL, -signal.SIGTERM):
                self.ended_badly.append(process.returncode)
        self.log.close()
        if self.ended_badly and sys.exc_info()[0] is None:
            fail(f"workers ended with {self.ended_badly}: " + open(os.path.join(folder, "workers.log")).read()[-2000:])


def command(plan, database, rules, more=()):
    words = [os.path.join(options.bin, "collagec"), model, "--allow-code", "--costs=measured", "--measure=all", "--rivals=ignore",
             f"--cost-db={database}", "--cache=", "--save-placement", os.path.join(folder, plan), "-o",
             os.path.join(folder, plan + ".placed.ir"), *more]
    for path in rules:
        words += ["-r", path]
    return words


def on_board(plan, database, more=()):
    return command(plan, database, [os.path.join(folder, "board.rules")], ["--place", "*=board", *more])


def compile_once(words):
    start = time.time()
    made = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    if made.returncode != 0:
        fail(f"{' '.join(words)}: exit code {made.returncode}: {made.stderr}{made.stdout}")
    made.seconds = time.time() - start
    return made


def plan_text(plan):
    with open(os.path.join(folder, plan)) as file:
        return file.read()


def check_once(what):
    """Nothing was measured twice, and nothing is left."""
    jobs, costs, measured, distinct = (int(server.number(text)) for text in (
        "SELECT count(*) FROM collage.job", "SELECT count(*) FROM collage.measurement", "SELECT count(*) FROM collage.measured_by",
        "SELECT count(DISTINCT (environment, candidate_digest)) FROM collage.measured_by"))
    if jobs != 0 or measured != distinct or costs != measured:
        fail(f"{what}: {jobs} jobs left, {costs} costs, {measured} measurements of {distinct} candidates")
    return costs


def await_number(text, expected):
    for _ in range(600):
        if server.number(text) == expected:
            return
        time.sleep(0.05)
    fail(f"{text}: {server.psql(text)} and not {expected}")


def check_plan(plan, what):
    if plan_text(plan) != undisturbed():
        fail(f"{what}: the plan differs from that of an undisturbed compilation")


def undisturbed():
    """The plan without a fleet and without a database."""
    if not os.path.exists(os.path.join(folder, "undisturbed.placement")):
        compile_once(on_board("undisturbed.placement", ""))
    return plan_text("undisturbed.placement")


def board_rules():
    return [os.path.join(folder, "board.rules")]


# --- the parts ---


def boards():
    seconds = 0.02 if options.quick else 0.25
    print(f"boards: each candidate takes {seconds} s")
    first = None
    for count in (1, 2, 4):
        with Workers(count, board_rules(), seconds):
            server.forget_costs()
            made = compile_once(on_board("boards.placement", server.address))
        check_plan("boards.placement", f"{count} workers")
        costs = check_once(f"{count} workers")
        if "by workers" not in made.stdout:
            fail(f"no worker measured: {made.stdout}")
        busy = server.number("SELECT sum(seconds) FROM collage.measured_by")
        span = server.number("SELECT extract(epoch FROM max(ended) - min(ended - seconds * interval '1 second')) FROM collage.measured_by")
        shares = server.psql("SELECT string_agg(worker || ' ' || n, ', ' ORDER BY worker) FROM "
                             "(SELECT worker, count(*) AS n FROM collage.measured_by GROUP BY worker) AS one")
        first = first or span
        print(f"  {count} workers: {costs} candidates in {span:.2f} s ({first / span:.2f} times as fast as one), "
              f"idle {100 * (1 - busy / (count * span)):.1f} %, whole compilation {made.seconds:.2f} s; {shares}")


def kills():
    wanted, done, rounds = (6 if options.quick else 200), 0, 0
    undisturbed()
    with Workers(4, board_rules(), 0.05, lease=1) as workers:
        while done < wanted:
            server.forget_costs()
            compiler = subprocess.Popen(on_board("kills.placement", server.address), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            output = []
            reader = threading.Thread(target=lambda: output.append(compiler.stdout.read()))
            reader.start()
            start = time.time()
            while compiler.poll() is None:
                time.sleep(chance.uniform(0.1, 0.6))
                if compiler.poll() is None and done < wanted:
                    workers.kill_one()
                    done += 1
                if time.time() - start > PATIENCE:
                    fail("a compiler hangs")
            reader.join()
            if compiler.returncode != 0:
                fail(f"a compiler ended with {compiler.returncode}: {output}")
            check_plan("kills.placement", f"after {done} kills")
            check_once(f"after {done} kills")
            rounds += 1
    attempts = int(server.number("SELECT max(attempt) FROM collage.measured_by"))
    print(f"kills: {done} workers killed during {rounds} compilations: all plans are the undisturbed one; at most {attempts} attempts for "
          "a candidate of the last")


def cuts():
    undisturbed()
    for what in ("connections cut", "stopped in order", "crashed", "hangs"):
        server.more = "&tcp_user_timeout=700" if what == "hangs" else ""
        with Workers(3, board_rules(), 0.05, lease=2):
            server.forget_costs()
            compiler = subprocess.Popen(on_board("cuts.placement", server.address), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for _ in range(1 if options.quick else 4):
                time.sleep(chance.uniform(0.3, 0.8))
                if what == "connections cut":
                    server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
                elif what == "hangs":
                    server.signal(signal.SIGSTOP)
                    time.sleep(chance.uniform(0.5, 2))
                    server.signal(signal.SIGCONT)
                else:
                    server.stop("fast" if what == "stopped in order" else "immediate")
                    time.sleep(chance.uniform(0, 1))
                    server.start()
            output = compiler.communicate(timeout=PATIENCE)[0]
            if compiler.returncode != 0:
                fail(f"{what}: a compiler ended with {compiler.returncode}: {output}")
            check_plan("cuts.placement", what)
            costs = check_once(what)
        print(f"cuts: {what}: {costs} candidates, each measured once; the plan is the undisturbed one")
    server.more = ""


def compilers():
    count = 5 if options.quick else 20
    undisturbed()
    with Workers(4, board_rules(), 0.02):
        server.forget_costs()
        start = time.time()
        running = [subprocess.Popen(on_board(f"many{number}.placement", server.address), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True) for number in range(count)]
        for number, compiler in enumerate(running):
            output = compiler.communicate(timeout=PATIENCE)[0]
            if compiler.returncode != 0:
                fail(f"a compiler ended with {compiler.returncode}: {output}")
            check_plan(f"many{number}.placement", f"compiler {number}")
        costs = check_once(f"{count} compilers")
    print(f"compilers: {count} at once, {time.time() - start:.1f} s: {costs} keys, {costs} measurements, {count} equal plans")
    # Without workers they measure themselves, and still each candidate once.
    server.forget_costs()
    few = min(count, 4)
    running = [subprocess.Popen(on_board(f"alone{number}.placement", server.address), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True) for number in range(few)]
    for number, compiler in enumerate(running):
        output = compiler.communicate(timeout=PATIENCE)[0]
        if compiler.returncode != 0:
            fail(f"a compiler ended with {compiler.returncode}: {output}")
        check_plan(f"alone{number}.placement", f"compiler {number} without workers")
    print(f"compilers: {few} at once without workers: {check_once('without workers')} keys, each measured once")


def claim_statement():
    with open(os.path.join(options.source, "compiler/measure/fleet/queue_work.cpp")) as file:
        return re.search(r'kClaim = R"sql\((.*?)\)sql"', file.read(), re.S).group(1)


def claims():
    rows = 5_000 if options.quick else 100_000
    server.forget_costs()
    server.psql("INSERT INTO collage.environment(text) VALUES ('claims') ON CONFLICT DO NOTHING; "
                "INSERT INTO collage.need(text) VALUES ('claims'), ('others') ON CONFLICT DO NOTHING; "
                "INSERT INTO collage.job(need, environment, candidate, timeout_ps, repeats, asked) "
                "SELECT need.id, environment.id, 'candidate ' || n || repeat(' text', 200), 1, false, 0 "
                f"FROM generate_series(1, {rows}) AS n, collage.environment, collage.need "
                "WHERE environment.text = 'claims' AND need.text = CASE WHEN n % 10 = 0 THEN 'others' ELSE 'claims' END; "
                "ANALYZE collage.job")
    need = int(server.number("SELECT id FROM collage.need WHERE text = 'claims'"))
    statement = claim_statement().replace("$1", f"'{{{need}}}'").replace("$2", "1").replace("$3", "15")
    print("claims: the plan of one, of", rows, "rows")
    plan = server.psql("BEGIN; EXPLAIN (ANALYZE, BUFFERS) " + statement + "; ROLLBACK")
    print("  " + plan.replace("\n", "\n  "))
    if "Index Scan using job_waiting" not in plan or "Seq Scan on job" in plan:
        fail("a claim does not use its index")
    script = os.path.join(folder, "claim.sql")
    with open(script, "w") as file:
        file.write(" ".join(statement.split()) + ";\n")
    for clients in (1, 8):
        made = subprocess.run([os.path.join(server.programs, "pgbench"), "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T",
                               "2" if options.quick else "10", "-f", script, server.address], capture_output=True, text=True,
                              timeout=PATIENCE)
        found = re.search(r"tps = ([\d.]+)", made.stdout)
        if made.returncode != 0 or not found:
            fail(f"pgbench: {made.stderr}{made.stdout}")
        left = int(server.number(f"SELECT count(*) FROM collage.job WHERE state = 0 AND need = {need}"))
        print(f"  {clients} workers: {float(found.group(1)):.0f} claims/s, {left} jobs left")
    twice = int(server.number("SELECT count(*) FROM collage.job WHERE attempts > 1"))
    if twice != 0:
        fail(f"{twice} jobs were claimed twice")
    server.forget_costs()


def cores():
    """Real kernels: medians of one worker and of four on the same cores."""
    small = os.path.join(folder, "small.ir")
    with open(small, "w") as file:
        file.write("model @small(%x: f32[1, 32, 28, 28]) -> (%y: f32[1, 32, 28, 28]) {\n"
                   "  %w = const random seed 1 : f32[32, 32, 3, 3]\n  %v = const random seed 2 : f32[32, 32, 1, 1]\n"
                   "  %a = Conv(%x, %w) {pads = [1, 1, 1, 1]}\n  %b = Relu(%a)\n  %c = Conv(%b, %v)\n  %d = Add(%c, %x)\n"
                   "  %y = Sigmoid(%d)\n}\n")
    words = [os.path.join(options.bin, "collagec"), small, "-r", os.path.join(options.source, "rules/host.rules"), "--costs=measured",
             "--measure=all", "--rivals=ignore", "--cache=", "--cost-db", server.address, "-o", os.path.join(folder, "small.placed.ir")]
    times = {}
    for count in (1, 4):
        with Workers(count, [os.path.join(options.source, "rules/host.rules")], 0):
            server.forget_costs()
            made = compile_once(words)
            if "by workers" not in made.stdout:
                fail(f"no worker measured: {made.stdout}")
        check_once(f"{count} workers on the same cores")
        overlaps = int(server.number(
            "WITH span AS (SELECT id, ended - seconds * interval '1 second' AS start, ended FROM collage.measured_by) "
            "SELECT count(*) FROM span AS a JOIN span AS b ON a.id < b.id "
            "AND least(a.ended, b.ended) - greatest(a.start, b.start) > interval '20 milliseconds'"))
        if overlaps:
            fail(f"{overlaps} measurements overlap on the same cores")
        rows = server.psql("SELECT encode(collage.text_digest(candidate), 'hex'), cost_ps FROM collage.measurement WHERE cost_ps > 0")
        times[count] = {key: float(value) for key, value in (row.split("|") for row in rows.splitlines())}
    both = sorted(times[4][key] / times[1][key] for key in times[1] if key in times[4])
    if not both:
        fail("nothing was measured")
    print(f"cores: {len(both)} kernels: with 4 workers the median cost is {both[len(both) // 2]:.2f} times that with one "
          f"(quartiles {both[len(both) // 4]:.2f}, {both[3 * len(both) // 4]:.2f}); no two measurements overlap")


def abandoned():
    with Workers(1, board_rules(), 0.3):
        server.forget_costs()
        compiler = subprocess.Popen(on_board("abandoned.placement", server.address), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_number("SELECT count(*) FROM collage.job WHERE state = 1", 1)
        compiler.kill()
        compiler.wait()
        measured = server.number("SELECT count(*) FROM collage.measured_by")
        left = server.number("SELECT count(*) FROM collage.job")
        server.psql("UPDATE collage.asker SET until = clock_timestamp()")  # as after a minute
        await_number("SELECT count(*) FROM collage.job", 0)
        measured = server.number("SELECT count(*) FROM collage.measured_by") - measured
    if measured > 2:
        fail(f"{measured} candidates were measured for a compiler that was killed")
    print(f"manners: of {left:.0f} candidates of a compiler that was killed {measured:.0f} were measured, the others removed")


def other_rules():
    other = os.path.join(folder, "other")
    os.makedirs(other, exist_ok=True)
    shutil.copy(os.path.join(folder, "board.rules"), other)
    with open(os.path.join(folder, "board.py")) as old, open(os.path.join(other, "board.py"), "w") as new:
        new.write(old.read() + "# another program\n")
    with Workers(1, [os.path.join(other, "board.rules")], 0):
        server.forget_costs()
        made = compile_once(on_board("rules.placement", server.address))
    output = made.stdout + made.stderr
    expected = "is not asked for `board`: files of `python3 board.py` have other contents"
    if output.count(expected) != 1:
        fail(f"a worker with another program: {output}")
    check_plan("rules.placement", "a worker with another program")
    print("manners: a compiler says why workers with another program are not asked")


def manners():
    undisturbed()
    with Workers(1, board_rules(), 2, lease=30) as workers:
        server.forget_costs()
        compiler = subprocess.Popen(on_board("manners.placement", server.address), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        await_number("SELECT count(*) FROM collage.job WHERE state = 1", 1)
        workers.is_open = False
        workers.keeper.join()
        start = time.time()
        workers.processes[0].terminate()
        code = workers.processes[0].wait(timeout=60)
        took = time.time() - start
        if code != 0 or took > 1.5 or server.psql("SELECT count(*) FROM collage.job WHERE state = 1") != "0":
            fail(f"a worker that was stopped ended with {code} after {took:.1f} s")
    with Workers(4, board_rules(), 0.01):
        output = compiler.communicate(timeout=PATIENCE)[0]
    if compiler.returncode != 0:
        fail(f"a compiler ended with {compiler.returncode}: {output}")
    check_plan("manners.placement", "a worker was stopped")
    check_once("a worker was stopped")
    print(f"manners: a worker that is stopped while it measures ends after {took:.2f} s, and its lease is given back")
    abandoned()
    other_rules()
    here = compile_once(on_board("here.placement", server.address, ["--measure-on", f"host={socket.gethostname()},name=w0"]))
    if "0 measured" not in here.stdout:
        fail(f"known costs were measured again: {here.stdout}")
    check_plan("here.placement", "--measure-on this host")
    unknown = subprocess.run(on_board("none.placement", server.address, ["--measure-on", "arch=abacus"]), capture_output=True, text=True,
                             timeout=PATIENCE)
    if unknown.returncode != 2 or "no worker has announced such a machine" not in unknown.stderr + unknown.stdout:
        fail(f"a machine that nobody announced: {unknown.returncode}: {unknown.stderr}{unknown.stdout}")
    print("manners: --measure-on finds this host's workers, and says that there is no abacus")


PARTS = [boards, kills, cuts, compilers, claims, cores, manners]


def main():
    server.psql("SELECT 1")
    # A worker makes the tables.
    made = subprocess.run([os.path.join(options.bin, "collage-measure"), "--serve", server.address, "--once", "-r",
                           os.path.join(folder, "board.rules"), "--allow-code"], capture_output=True, text=True, timeout=PATIENCE)
    if made.returncode != 0 and "built without" in made.stderr:
        print(made.stderr)
        return 77
    if made.returncode != 0:
        fail(made.stderr)
    for part in PARTS:
        if not options.only or part.__name__ in options.only:
            part()
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("source")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=[part.__name__ for part in PARTS])
    parser.add_argument("--keep", action="store_true", help="leave the temporary folders")
    options = parser.parse_args()
    seed = int(os.environ.get("COLLAGE_FLEET_SEED", "1"))
    chance = random.Random(seed)
    found = find_programs()
    if found is None:
        print("PostgreSQL is not installed")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="collage_fleet_files_")
    # One lock of measuring for all of them, and not that of other programs.
    os.environ["COLLAGE_MACHINE_LOCK"] = f"collage.test.fleet.{os.getpid()}"
    for name in ("board.rules", "board.py"):
        shutil.copy(os.path.join(HERE, name), folder)
    model = os.path.join(options.source, "examples/networks/resnet50.ir")
    server = Server(found)
    try:
        code = main()
    finally:
        server.stop("immediate")
        if not options.keep:
            shutil.rmtree(server.folder, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)
