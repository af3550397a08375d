#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages files of every kind and runs the programs on them, under limits.

    mutate_files.py BIN [--kinds model,onnx,…] [--count N] [--seed S] [--more KIND=FOLDER]… [--keep FOLDER]

BIN: the folder of the programs. `--count`: damaged files of each kind. `--more`: seeds besides those of the repository,
ONNX's node tests, say. Every run must end by itself with exit code 0, 1, 2 or 4 (program_text.h) and print no control
characters but line ends and tabs. collagec is given limits of memory and time, which it has to keep. What breaks this is a
fault: the input is kept, and the exit code of this script is 1.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = ["--max-memory", "2GiB", "--timeout", "10"]
SECONDS = 60  # of the clock, on a busy machine; nothing but a hang comes near
CPU_SECONDS = 40
ADDRESS_SPACE = 8 << 30
MOST_SEED_BYTES = 200_000

MODEL = """model @m(%x: f32[1, 4, 8, 8]) -> (%y: f32[1, 4, 8, 8]) {
  %w = const random seed 1 : f32[4, 4, 3, 3]
  %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}
  %r = Relu(%c)
  %s = Sigmoid(%r)
  %y = Add(%s, %x)
}
"""
EDGES = [0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, -2**31, 2**32, 2**53, 2**62, 2**63 - 1, -2**63]
HIDDEN = ["\x1b[2J", "\x9b31m", "\u202eabc", "\u2066", "\u200b", "\x7f", "a\nerror: b"]
WORDS = ["nan", "inf", "-inf", "1e308", "-0.0", "1e-320", "0x10", "", "\"", "{", "}", "[", "(", "%", "@", "//", "\0", "\x1b[2J"]


# ---- damage ----

def damage_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        at = rng.randrange(len(data) + 1)
        length = min(rng.choice([1, 1, 2, 4, 8, 64]), len(data) - at)
        how = rng.randrange(7)
        if how == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1 and at < len(data):
            data[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        elif how == 2:
            del data[at:at + length]
        elif how == 3:
            data[at:at] = bytes(rng.randrange(256) for _ in range(length))
        elif how == 4:
            data[at:at] = data[at:at + length] * rng.choice([1, 2, 100])
        elif how == 5:
            data[at:at + length] = (rng.choice(EDGES) & (1 << 64) - 1).to_bytes(8, "little")[:length]
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)


def damage_text(data, rng):
    """Tokens that vanish, are swapped, said twice, or become numbers at the edge of what there is."""
    tokens = TOKEN.findall(data.decode("utf-8", "surrogateescape"))
    if len(tokens) < 3:
        return damage_bytes(data, rng)
    numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        how = rng.randrange(7)
        if how <= 1 and numbers:
            tokens[rng.choice(numbers)] = str(rng.choice(EDGES))
        elif how == 2:
            tokens[i] = ""
        elif how == 3:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif how == 4:
            tokens[i] = tokens[j]
        elif how == 5:
            tokens[i] = rng.choice(WORDS)
        else:
            end = min(len(tokens), i + rng.randrange(1, 30))
            tokens[j:j] = tokens[i:end]
            numbers = []
    return "".join(tokens).encode("utf-8", "surrogateescape")


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def read_varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError


def read_message(data):
    """[(field, wire type, value)]; ValueError if this is no message of protobuf."""
    at, rows = 0, []
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError
        if key >> 3 == 0 or at > len(data):
            raise ValueError
        rows.append((key >> 3, kind, value))
    return rows


def write_message(rows):
    out = b""
    for field, kind, value in rows:
        out += varint(field << 3 | kind)
        out += varint(value) if kind == 0 else value if kind != 2 else varint(len(value)) + value
    return out


def damage_protobuf(data, rng, depth=0):
    """One field, somewhere: gone, twice, moved, or of another value. The rest stays a message."""
    try:
        rows = read_message(data)
    except (ValueError, IndexError):
        rows = []
    if not rows or depth > 12:
        return damage_bytes(data, rng)
    i = rng.randrange(len(rows))
    field, kind, value = rows[i]
    how = rng.random()
    if kind == 2 and value and how < 0.75:
        rows[i] = (field, kind, damage_protobuf(value, rng, depth + 1))
    elif kind == 0 and how < 0.75:
        rows[i] = (field, kind, rng.choice(EDGES))
    elif how < 0.82:
        del rows[i]
    elif how < 0.9:
        rows.insert(rng.randrange(len(rows) + 1), rows[i])
    elif how < 0.95:
        j = rng.randrange(len(rows))
        rows[i], rows[j] = (field, *rows[j][1:]), (rows[j][0], kind, value)
    elif kind == 2:
        rows[i] = (field, kind, rng.choice([b"", b"\0", b"a\nerror: b\x1b[2J", bytes(300), value * 2]))
    return write_message(rows)


def damage_json(data, rng):
    """One value, somewhere: gone, of another kind, at the edge of what there is, or a text that no terminal shows."""
    def places(value, path=()):
        yield path
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield from places(value[key], (*path, key))

    try:
        document = json.loads(data)
    except ValueError:
        return damage_bytes(data, rng)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        *way, last = rng.choice([path for path in places(document) if path] or [("none",)])
        holder = document
        for key in way:
            holder = holder[key]
        new = rng.choice([rng.choice(EDGES), rng.choice(EDGES) + 0.5, 1e308, None, True, [], {}, "", rng.choice(HIDDEN), [1, 2], "percentile 1e9"])
        how = rng.randrange(6)
        if how == 0 and isinstance(holder, dict):
            holder.pop(last, None)
        elif how == 1 and isinstance(holder, dict) and last in holder:
            holder[rng.choice([*HIDDEN, "x", "other"])] = holder.pop(last)
        elif how == 2 and isinstance(holder, list) and holder:
            holder.append(holder[0])
        elif isinstance(holder, dict) or (isinstance(last, int) and last < len(holder)):
            holder[last] = new
    return json.dumps(document).encode("utf-8", "surrogatepass")


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
STATEMENTS = [
    f"DROP TABLE measurement; CREATE VIEW measurement AS {ENDLESS} SELECT i AS environment, i AS candidate, i AS cost_ps FROM n",
    f"DROP TABLE environment; CREATE VIEW environment AS {ENDLESS} SELECT i AS id, hex(zeroblob(1000000)) AS text FROM n",
    "CREATE TRIGGER more AFTER INSERT ON measurement BEGIN INSERT INTO environment(text) SELECT randomblob(1000) FROM measurement; END",
    "CREATE INDEX slow ON measurement(length(candidate))",
    "ALTER TABLE measurement ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000)))",
    "CREATE TABLE other(a); DROP TABLE reference",
    "INSERT INTO environment(text) VALUES(hex(zeroblob(20000000)))",
    "UPDATE measurement SET candidate = candidate || hex(zeroblob(9000000)) WHERE candidate LIKE '%7'",
    "PRAGMA user_version = 7", "PRAGMA application_id = 1", "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE measurement(a)' WHERE name = 'measurement'",
    "PRAGMA writable_schema = ON; INSERT INTO sqlite_master SELECT type, name || '2', tbl_name, rootpage, sql FROM sqlite_master",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2",
    "DELETE FROM environment",
]


def damage_database(data, rng):
    """Tables, rows and settings of a database, by SQL: views that do not end, values that no measurement has."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "costs.sqlite"
        path.write_bytes(data)
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = DELETE")
        for _ in range(rng.choice([1, 1, 2, 4])):
            column = rng.choice(["environment", "candidate", "cost_ps", "spread_ps", "runs", "failure", "timeout_ps", "date", "disturbance", "repeated"])
            value = rng.choice([*EDGES, 1.5, None, b"\0\xff", *HIDDEN, "9" * 30])
            try:
                if rng.random() < 0.5:
                    database.executescript(rng.choice(STATEMENTS))
                else:
                    database.execute(f"UPDATE OR IGNORE measurement SET {column} = ? WHERE candidate LIKE ?", (value, f"%{rng.randrange(10)}"))
            except (sqlite3.Error, OverflowError):
                pass
        database.close()
        return path.read_bytes()


# ---- what is damaged, and who reads it ----

class Kinds:
    """Seeds and commands by kind. A command is words, of which FILE is the damaged file; what it writes goes to OUT."""

    def __init__(self, programs, folder):
        self.programs, self.folder = pathlib.Path(programs), folder
        (folder / "m.ir").write_text(MODEL)
        self.rules = str(ROOT / "rules" / "host.rules")
        self.npu = str(ROOT / "tests" / "filetests" / "driver" / "Inputs" / "acc.rules")
        self.near = ROOT / "tests" / "filetests" / "quantize" / "Inputs" / "near.rules"
        self.made = {}

    def program(self, name):
        return str(self.programs / name)

    def make(self):
        """Seeds that the compiler writes itself."""
        out = self.folder / "seeds"
        out.mkdir()
        model = str(self.folder / "m.ir")
        for name, rules in {"host": self.rules, "acc": self.npu}.items():
            subprocess.run([self.program("collagec"), model, "-r", rules, "--costs=estimate", "-o", str(out / f"{name}.placed.ir"),
                            "--save-placement", str(out / f"{name}.placement"), "--certificate", str(out / f"{name}.json")],
                           check=True, stdout=subprocess.DEVNULL)
            subprocess.run([self.program("collagec"), model, "-r", rules, "--costs=estimate", "-o", str(out / f"{name}.collage")],
                           check=True, stdout=subprocess.DEVNULL)
        return out

    def table(self):
        made = self.make()
        corpus = ROOT / "tests" / "fuzz" / "corpus"
        tests = ROOT / "tests" / "filetests"
        collagec = [self.program("collagec")]
        model = str(self.folder / "m.ir")
        quick = [*LIMITS, "--costs=estimate", "--cache="]
        host = ["-r", self.rules, *quick]
        read = [[*collagec, "FILE", *host, "--emit=graph"], [*collagec, "FILE", *host, "--emit=plan"],
                [*collagec, "check", "FILE", *host], [*collagec, "FILE", *host, "-o", "OUT.collage"],
                [*collagec, "FILE", "-r", self.npu, *quick, "-o", "OUT.ir"], [*collagec, "FILE", *host, "--emit=onnx", "-o", "OUT.onnx"]]
        rules = [[self.program("collage-rules"), *command, "FILE"] for command in (["check"], ["test"], ["list", "--json"])]
        tensor = [[*collagec, "run", model, *host, "--input", "x=FILE"]]
        self.write_tensors(made)
        database = self.write_database(made)
        costs = [[*collagec, "costs", *command] for command in (
            ["list", "--cost-db", "FILE"], ["show", "", "--cost-db", "FILE"], ["export", "OUT.csv", "--cost-db", "FILE"],
            ["merge", "FILE", "--cost-db", "OUT.sqlite"], ["prune", "--older", "1", "--dry-run", "--cost-db", "FILE"], ["prune", "--older", "1", "--cost-db", "FILE"])]
        return {
            "model": (damage_text, ".ir", [*tests.glob("*/*.ir"), *ROOT.glob("examples/**/*.ir")], read),
            "placed": (damage_text, ".ir", made.glob("*.placed.ir"), read),
            "rules": (damage_text, ".rules", [*ROOT.glob("rules/*.rules"), *tests.glob("**/*.rules")],
                      [*rules, [*collagec, model, "-r", "FILE", *quick, "--emit=candidates"], [*collagec, "check", model, "-r", "FILE", *quick]]),
            "onnx": (damage_protobuf, ".onnx", corpus.glob("onnx/*.onnx"), read),
            "npy": (damage_bytes, ".npy", made.glob("*.npy"), tensor),
            "tensor_pb": (damage_protobuf, ".pb", made.glob("*.pb"), tensor),
            "safetensors": (damage_bytes, ".safetensors", [*made.glob("*.safetensors"), *corpus.glob("tensors/good.safetensors")],
                            [[*collagec, str(self.folder / "weights.ir"), *host, "--emit=graph"]]),
            "picture": (damage_bytes, "", self.write_pictures(made),
                        [[*collagec, "run", str(self.folder / "picture.ir"), *host, "--input", "x=FILE"]]),
            "placement": (damage_text, ".placement", made.glob("*.placement"), [[*collagec, model, *host, "--placement", "FILE", "--emit=placement"]]),
            "certificate": (damage_text, ".json", made.glob("*.json"),
                            [[self.program("collage-check-certificate"), "FILE"], [self.program("collage-check-plan"), model, self.rules, "FILE"]]),
            "package": (damage_bytes, ".collage", made.glob("*.collage"),
                        [[self.program("collage-run"), *command, "FILE"] for command in ([], ["--about"], ["--placed"])]),
            "costs": (damage_text, ".csv", [self.write_costs(made)],
                      [[*collagec, "costs", "import", "FILE", "--cost-db", "OUT.sqlite"]]),
            "database": (damage_bytes, ".sqlite", [database], costs),
            "schema": (damage_database, ".sqlite", [database], costs),
            "calibration": (damage_json, ".json", [self.write_calibration(made)],
                            [[*collagec, str(self.folder / "product.ir"), "-r", str(self.near), *quick, "--calibration", "FILE", "--emit=placement"]]),
        }

    def write_tensors(self, made):
        model = str(self.folder / "m.ir")
        for suffix in ("npy", "pb"):
            out = made / f"y.{suffix}"
            subprocess.run([self.program("collagec"), "run", model, "-r", self.rules, "--costs=estimate", "--input", "x=random", "--save", f"y={out}"],
                           check=True, stdout=subprocess.DEVNULL)
        (self.folder / "weights.ir").write_text(
            'model @w(%x: f32[4]) -> (%y: f32[4]) {\n  %w = const file "file.safetensors" "w" : f32[4]\n  %y = Add(%x, %w)\n}\n')
        (self.folder / "picture.ir").write_text("model @p(%x: f32[1, 1, 8, 8]) -> (%y: f32[1, 1, 8, 8]) {\n  %y = Relu(%x)\n}\n")

    def write_pictures(self, made):
        """One of 8 x 8 in grey, as .pgm and as .png."""
        levels = [bytes(range(row * 8, row * 8 + 8)) for row in range(8)]

        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        (made / "grey.pgm").write_bytes(b"P5\n8 8\n255\n" + b"".join(levels))
        (made / "grey.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) +
                                        chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in levels))) + chunk(b"IEND", b""))
        return [made / "grey.pgm", made / "grey.png"]

    def write_calibration(self, made):
        path, model = made / "calibration.json", self.folder / "product.ir"
        model.write_text("model @p(%x: f32[1, 2]) -> (%y: f32[1, 3]) {\n  %w = const random seed 1 : f32[2, 3]\n  %y = MatMul(%x, %w)\n}\n")
        subprocess.run([self.program("collagec"), str(model), "-r", str(self.near), "--costs=estimate", "--calibrate", "x=random", "--save-calibration", str(path),
                        "-o", str(made / "product.placed.ir")], check=True, stdout=subprocess.DEVNULL)
        return path

    def write_costs(self, made):
        path = made / "costs.csv"
        rows = "".join(f"machine,candidate {i},{1000 * i + 5},{i},{i + 1},,0,1700000000,\n" for i in range(20))
        path.write_text("environment,candidate,cost_ps,spread_ps,runs,failure,timeout_ps,date,disturbance\n" + rows)
        return path

    def write_database(self, made):
        path = made / "costs.sqlite"
        subprocess.run([self.program("collagec"), "costs", "import", str(self.write_costs(made)), "--cost-db", str(path)], check=True, stdout=subprocess.DEVNULL)
        return path


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def run(command, folder):
    """Returns a word that says how it ended, and what it printed."""
    started = time.monotonic()
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS, preexec_fn=limit, check=False)
    except subprocess.TimeoutExpired as expired:
        return "hang", expired.stdout or b"", SECONDS
    seconds = time.monotonic() - started
    if done.returncode < 0:
        return f"signal {-done.returncode}", done.stdout, seconds
    if done.returncode not in (0, 1, 2, 4):
        return f"exit code {done.returncode}", done.stdout, seconds
    if CONTROLS.search(done.stdout.decode("utf-8", "replace")) and b"-o" not in [word.encode() for word in command]:
        return "control characters", done.stdout, seconds
    if b"error: out of " in done.stdout:
        return "limit", done.stdout, seconds
    return ["good", "refused", "refused", "", "refused"][done.returncode], done.stdout, seconds


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("programs")
    options.add_argument("--kinds")
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--more", action="append", default=[])
    options.add_argument("--keep", default="build/mutants")
    chosen = options.parse_args()
    more = collections.defaultdict(list)
    for word in chosen.more:
        kind, _, folder = word.partition("=")
        more[kind] += [path for path in pathlib.Path(folder).rglob("*.onnx" if kind == "onnx" else "*") if path.is_file()]
    faults = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        table = Kinds(pathlib.Path(chosen.programs).resolve(), folder).table()
        kinds = chosen.kinds.split(",") if chosen.kinds else list(table)
        print(f"{'kind':<12}{'files':>7}{'good':>7}{'refused':>9}{'limit':>7}{'faults':>8}{'slowest':>10}")
        for kind in kinds:
            faults += damage_kind(kind, *table[kind], more[kind], chosen, folder)
    print(f"{faults} faults")
    return 1 if faults else 0


def damage_kind(kind, damage, suffix, seeds, commands, more, chosen, folder):
    seeds = sorted(path for path in [*seeds, *more] if 0 < path.stat().st_size <= MOST_SEED_BYTES)
    if not seeds:
        print(f"{kind}: no seeds", file=sys.stderr)
        return 1
    rng = random.Random(f"{chosen.seed} {kind}")
    counts, slowest = collections.Counter(), 0
    for number in range(chosen.count):
        seed = rng.choice(seeds)
        file = folder / f"file{suffix or seed.suffix}"
        how = damage if rng.random() < 0.75 else damage_bytes
        file.write_bytes(how(seed.read_bytes(), rng))
        command = [word.replace("FILE", str(file)).replace("OUT", str(folder / "out")) for word in rng.choice(commands)]
        ended, printed, seconds = run(command, folder)
        slowest = max(slowest, seconds)
        for left in folder.glob("out*"):
            left.unlink()
        if ended in ("good", "refused", "limit"):
            counts[ended] += 1
            continue
        counts["fault"] += 1
        keep = pathlib.Path(chosen.keep)
        keep.mkdir(parents=True, exist_ok=True)
        kept = keep / f"{kind}-{chosen.seed}-{number}{file.suffix}"
        shutil.copy(file, kept)
        print(f"{ended}: {' '.join(command)}\n  kept as {kept}\n  {printed[-400:]!r}", file=sys.stderr)
    print(f"{kind:<12}{chosen.count:>7}{counts['good']:>7}{counts['refused']:>9}{counts['limit']:>7}{counts['fault']:>8}{slowest:>9.1f}s",
          flush=True)
    return counts["fault"]


if __name__ == "__main__":
    sys.exit(main())
