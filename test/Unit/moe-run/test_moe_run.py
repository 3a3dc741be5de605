"""moe-run against NumPy, run by ctest: test_moe_run.py <moe-run> <the test program>.

The program is written by test/Unit/runtime/WriteTestProgram.cpp.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import ml_dtypes
    import numpy as np
except ImportError as missing:
    print(f"not run: {missing}")
    sys.exit(77)

MOE_RUN, PROGRAM = sys.argv[1:3]
SEED = int(os.environ.get("MOE_SEED", random.SystemRandom().getrandbits(32)))
TYPES = ["float32", "float32", "float32", "int32", "int64", "int8", "uint8", "bool"]


class MoeRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.random = np.random.default_rng(SEED)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def save(self, name, **arrays):
        np.savez(self.path(name), **arrays)
        return self.path(name)

    def run_tool(self, *options, program=PROGRAM, env=()):
        environment = {**os.environ, **dict(env)}
        return subprocess.run([MOE_RUN, program, *options], capture_output=True, text=True, timeout=60, env=environment)

    def good(self, *options, **keywords):
        result = self.run_tool(*options, **keywords)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def bad(self, text, *options, **keywords):
        result = self.run_tool(*options, **keywords)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(text, result.stdout + result.stderr)

    def pair(self, shape=(5, 3)):
        return (self.random.standard_normal(shape, dtype=np.float32) for _ in range(2))

    def test_names_and_numbers(self):
        a, b = self.pair()
        out = self.path("out.npz")
        np.save(self.path("b.npy"), b)
        for inputs in (
            ["--input", self.save("named.npz", a=a, b=b)],
            ["--input", self.save("numbered.npz", in0=a, in1=b, out0=a)],
            ["--input", self.save("a.npz", a=a), "--input", "b=" + self.path("b.npy")],
            ["--input", self.save("columns.npz", a=np.asfortranarray(a), b=np.asfortranarray(b))],
        ):
            self.good("--entry", "add", *inputs, "--output", out, "--threads", "2")
            with np.load(out) as found:
                self.assertEqual(sorted(found), ["doubled", "sum"])
                np.testing.assert_array_equal(found["sum"], a + b)
                np.testing.assert_array_equal(found["doubled"], a + b + a)

    def test_shapes(self):
        for shape in ((1, 1), (0, 4), (3, 0), (200, 1000)):
            a, b = self.pair(shape)
            self.good("--entry", "add", "--input", self.save("in.npz", a=a, b=b), "--output", self.path("out.npz"))
            with np.load(self.path("out.npz")) as found:
                np.testing.assert_array_equal(found["sum"], a + b)

    def test_header_of_every_length(self):
        a, b = self.pair()
        for padding in range(0, 400, 7):
            header = "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }" + " " * padding + "\n"
            with open(self.path("b.npy"), "wb") as stream:
                stream.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + b.tobytes())
            np.testing.assert_array_equal(np.load(self.path("b.npy")), b)
            inputs = ("--input", self.save("a.npz", a=a), "--input", "b=" + self.path("b.npy"))
            self.good("--entry", "add", *inputs, "--check", self.save("out.npz", sum=a + b, doubled=a + b + a))

    def test_headers_that_are_refused(self):
        good = "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"
        for old, new, text in (
            ("(5, 3)", "(5, 4)", "is truncated"),
            ("(5, 3)", "(4294967296, 4294967296)", "passes 64 bits"),
            ("(5, 3)", "(999999999999, 1)", "is truncated"),
            ("(5, 3)", "(5, -3)", "not supported"),
            ("(5, 3)", "(,)", "not supported"),
            ("<f4", "<V4", "cannot be read"),
            ("<f4", "<f", "not supported"),
            (good, "", "not supported"),
            (good, "{}", "not supported"),
            (good, "9" * 2000, "not supported"),
        ):
            header = good.replace(old, new) + " " * 20 + "\n"
            with open(self.path("b.npy"), "wb") as stream:
                stream.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + bytes(60))
            self.bad(text, "--entry", "add", "--input", "b=" + self.path("b.npy"))

    def types(self, count=2000):
        bits = self.random.integers(0, 2**32, count, dtype=np.uint32)
        floats = bits.view(np.float32).copy()
        special = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 65504.0, 65519.9, 65520.0, 1e-8, 5.96e-8, 2.98e-8, 3e38]
        floats[: len(special)] = special
        floats[len(special) : count // 2] = self.random.standard_normal(count // 2 - len(special)) * 100
        arrays = [floats, floats, floats]
        for name in TYPES[3:]:
            arrays.append(bits.astype(np.int64).astype(name) if name != "bool" else bits % 2 == 1)
        return {f"in{i}": array for i, array in enumerate(arrays)}

    def test_types(self):
        arrays = self.types()
        self.good("--entry", "types", "--input", self.save("in.npz", **arrays), "--output", self.path("out.npz"))
        with np.load(self.path("out.npz")) as found, np.errstate(over="ignore", invalid="ignore"):
            expected = list(arrays.values())
            expected[1] = expected[1].astype(ml_dtypes.bfloat16).astype(np.float32)
            expected[2] = expected[2].astype(np.float16)
            for i, array in enumerate(expected):
                self.assertEqual(found[f"out{i}"].dtype, array.dtype)
                np.testing.assert_array_equal(found[f"out{i}"], array)
        arrays["in2"] = expected[2]
        self.good("--entry", "types", "--input", self.save("half.npz", **arrays))

    def test_refused_types(self):
        arrays = self.types(50)
        for i, dtype, takes in (
            (0, "float64", "f32"),
            (3, "int64", "i32"),
            (4, "int32", "i64"),
            (7, "uint8", "i1"),
            (1, "float16", "bf16"),
            (5, "uint8", "i8"),
        ):
            changed = dict(arrays)
            changed[f"in{i}"] = np.ones(50, dtype)
            kind = np.dtype(dtype).str[1:]
            self.bad(
                f"input {i} 'in{i}' has element type {kind}, but the program takes {takes}",
                "--entry",
                "types",
                "--input",
                self.save("in.npz", **changed),
            )

    def test_bad_inputs(self):
        a, b = self.pair()
        add = ("--entry", "add", "--input")
        self.bad("no array 'b' or 'in1' was given for input 1; there is 'a', 'c'", *add, self.save("in.npz", a=a, c=b))
        np.save(self.path("c.npy"), b)
        both = self.save("both.npz", a=a, b=b)
        self.bad(
            "--input names 'c', but entry 'add' has no such input", *add, both, "--input", "c=" + self.path("c.npy")
        )
        self.bad("input 1 'b': dimension 0 is 4, but must be 5", *add, self.save("in.npz", a=a, b=b[:4]))
        self.bad("input 1 'b' has rank 1, but must have rank 2", *add, self.save("in.npz", a=a, b=b[0]))
        self.bad("is neither a .npz file nor name=file.npy", *add, "in.txt")
        self.bad("No such file", *add, self.path("absent.npz"))
        self.bad("No such file", *add, "a=" + self.path("absent.npy"))
        self.bad("choose one with --entry: 'add' 'types' 'faults'", "--input", self.save("in.npz", a=a, b=b))
        self.bad("the program has no entry 'ad'", "--entry", "ad", "--input", self.save("in.npz", a=a, b=b))
        self.bad("--inptu", *add, self.save("in.npz", a=a, b=b), "--inptu", "x")
        self.bad("'b.npy' of", *add, self.save("in.npz", a=a, b=b.astype(">f4")))
        self.bad("cannot write", *add, self.save("in.npz", a=a, b=b), "--output", "/absent/out.npz")
        os.mkfifo(self.path("pipe"))
        self.bad("no regular file", *add, self.save("in.npz", a=a, b=b), "--output", self.path("pipe"))
        with open("/dev/full", "w") as full:
            tail = ("--check", self.save("sums.npz", sum=a + b, doubled=a + b + a))
            command = [MOE_RUN, PROGRAM, *add, self.path("in.npz"), *tail]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write to standard output: No space left", done.stderr)
        self.bad("not a .moe file", *add, self.save("in.npz", a=a, b=b), program=__file__)

    def test_damaged_files(self):
        a, b = self.pair()
        damage = random.Random(SEED)
        np.save(self.path("a.npy"), a)
        self.save("in.npz", a=a, b=b)
        for name, option in (("a.npy", "a="), ("in.npz", "")):
            with open(self.path(name), "rb") as stream:
                whole = stream.read()
            for i in range(40):
                data = bytearray(whole)
                if i % 2:
                    data = data[: damage.randrange(len(data))]
                else:
                    for _ in range(3):
                        data[damage.randrange(len(data))] = damage.randrange(256)
                with open(self.path("damaged" + name), "wb") as stream:
                    stream.write(data)
                result = self.run_tool(
                    "--entry", "add", "--input", self.path("in.npz"), "--input", option + self.path("damaged" + name)
                )
                self.assertIn(result.returncode, (0, 1), result.stderr)
                self.assertNotIn("Sanitizer", result.stderr)

    def check_add(self, change, *options):
        a, b = self.pair()
        expected = {"sum": a + b, "doubled": a + b + a}
        change(expected)
        return (
            "--entry",
            "add",
            "--input",
            self.save("in.npz", a=a, b=b),
            "--check",
            self.save("expected.npz", **expected),
            *options,
        )

    def test_check(self):
        def raise_one(by):
            def change(expected):
                largest = np.argmax(np.abs(expected["sum"]))
                self.place = list(np.unravel_index((largest + 1) % 15, (5, 3)))
                expected["sum"][tuple(self.place)] += by * np.abs(expected["sum"]).max()

            return change

        output = self.good(*self.check_add(lambda expected: None))
        self.assertIn("check out0 'sum' [5,3]: largest error 0 of", output)
        self.assertIn("check out1 'doubled' [5,3]", output)
        self.good(*self.check_add(raise_one(0.9e-5)))
        options = self.check_add(raise_one(1.2e-5))
        self.bad(f"1 of 15 elements are off; first at [{self.place[0]},{self.place[1]}]", *options)
        self.good(*self.check_add(raise_one(1.2e-5), "--rtol-of-max", "2e-5"))
        self.good(*self.check_add(raise_one(1e-3), "--atol", "0.1"))
        self.bad("FAILED", *self.check_add(raise_one(1e-3), "--atol", "1e-6", "--rtol", "1e-7"))
        for option in ("--atol", "--rtol", "--rtol-of-max"):
            self.bad(option, *self.check_add(raise_one(0), option, "-1"))
        self.bad("excludes", *self.check_add(raise_one(0), "--atol", "1", "--rtol-of-max", "1"))
        self.bad("requires --check", "--entry", "add", "--atol", "1")

    def test_check_of_nonfinite_and_shape(self):
        def put(value):
            def change(expected):
                expected["doubled"][2, 1] = value

            return change

        for value in (np.nan, np.inf, -np.inf):
            self.bad("first at [2,1]", *self.check_add(put(value), "--rtol-of-max", "1e30"))
        self.bad("has no array 'doubled' or 'out1'", *self.check_add(lambda expected: expected.pop("doubled")))
        self.bad(
            "shape [5,3], expected [4,3]: FAILED",
            *self.check_add(lambda expected: expected.update(sum=expected["sum"][:4])),
        )
        self.bad(
            "element type f4, expected i4",
            *self.check_add(lambda expected: expected.update(sum=expected["sum"].astype(np.int32))),
        )
        a = np.array([[np.nan, np.inf, -np.inf]], np.float32)
        self.good(
            "--entry",
            "add",
            "--input",
            self.save("in.npz", a=a, b=a),
            "--check",
            self.save("out.npz", sum=a, doubled=a),
        )

    def test_check_of_arrays_that_are_no_output(self):
        text = "has an array '%s', which is compared with no output"
        for name in ("out2", "out17", "out0"):  # out0 is called 'sum', which is there too
            self.bad(text % name, *self.check_add(lambda expected, name=name: expected.update({name: expected["sum"]})))

        def number(expected):
            expected["out0"], expected["out1"] = expected.pop("sum"), expected.pop("doubled")

        self.good(*self.check_add(number))
        # Other arrays of the file are nobody's: inputs, and what the user keeps there.
        self.good(
            *self.check_add(
                lambda expected: expected.update(outer=expected["sum"], out=expected["sum"], in0=expected["sum"])
            )
        )

    def test_check_of_integers_is_exact(self):
        arrays = self.types(64)
        expected = {f"out{i}": array for i, array in enumerate(arrays.values())}
        expected["out4"] = expected["out4"].copy()
        expected["out4"][17] += 1
        options = ("--rtol-of-max", "1", "--entry", "types", "--input", self.save("in.npz", **arrays))
        self.bad("first at [17]", "--check", self.save("expected.npz", **expected), *options)

    def test_faults_are_named(self):
        ids = np.array([0, 7, 8, -1, 99], np.int32)
        output = self.good("--entry", "faults", "--input", self.save("in.npz", ids=ids))
        self.assertEqual(output, "fault BAD_ID: 2 times, first at row 2: value 8, limit 8\n")

    def halves(self, lengths=(6, 6)):
        """Inputs in.0.npz and in.1.npz, and the options that take them."""
        parts = [self.random.integers(-9, 9, n) for n in lengths]
        for rank, part in enumerate(parts):
            self.save(f"in.{rank}.npz", x=part)
        return parts, (
            "--entry",
            "swap",
            "--input",
            self.path("in.{rank}.npz"),
            "--output",
            self.path("out.{rank}.npz"),
        )

    def check_swapped(self, parts):
        for rank, expected in enumerate(zip(*(np.split(part, 2) for part in parts), strict=True)):
            with np.load(self.path(f"out.{rank}.npz")) as found:
                np.testing.assert_array_equal(found["y"], np.concatenate(expected))

    def test_ranks_in_threads(self):
        parts, options = self.halves()
        self.good(*options, "--ranks", "2", "--threads", "1")
        self.check_swapped(parts)
        self.save("out.0.npz", y=np.concatenate([part[:3] for part in parts]))
        self.save("out.1.npz", y=np.concatenate([part[3:] for part in parts]) + 1)
        result = self.run_tool(*options[:4], "--ranks", "2", "--check", self.path("out.{rank}.npz"))
        self.assertEqual(result.returncode, 1)
        lines = sorted(result.stdout.splitlines())
        self.assertIn("rank 0: check out0 'y' [6]", lines[0])
        self.assertIn("rank 1: check out0 'y' [6]: 6 of 6 elements differ: FAILED", "\n".join(lines))

    def test_what_ranks_sent(self):
        _, options = self.halves()
        trace, report = self.path("trace.{rank}.json"), self.path("report.{rank}.html")
        self.good(*options, "--ranks", "2", "--threads", "1", "--trace", trace, "--report", report)
        for rank in range(2):
            with open(self.path(f"trace.{rank}.json")) as stream:
                other = json.load(stream)["otherData"]
            self.assertEqual((other["rank"], other["bytes sent to each rank"]), (rank, [24, 24]))
            self.assertEqual(list(other["us by kind"]), ["exchange"])
            with open(self.path(f"report.{rank}.html")) as stream:
                page = stream.read()
            self.assertIn("of these in exchanges", page)
            self.assertRegex(page, f"What rank {rank} sent to each other rank")
            self.assertRegex(page, f"<tr><td>{1 - rank}</td><td>24 B</td><td>[0-9.e-]+</td></tr>")

    def test_bad_ranks(self):
        _, options = self.halves()
        self.bad("comm is NULL, but entry 'swap' is for 2 ranks of axis 'ep'", *options[:3], self.path("in.0.npz"))
        self.bad(
            "comm has 3 ranks, but entry 'swap' is for 2 of axis 'ep'",
            *options[:3],
            self.path("in.0.npz"),
            "--ranks",
            "3",
        )
        self.bad("--ranks", *options, "--ranks", "0")
        self.bad("excludes", *options, "--ranks", "2", "--store", self.path("store"))
        self.bad("neither RANK and WORLD_SIZE nor", *options, "--store", self.path("store"))
        _, options = self.halves((6, 8))
        result = self.run_tool(*options, "--ranks", "2", "--timeout-ms", "20000")
        self.assertEqual(result.returncode, 1)
        said = "COMM_FAILED: .*rank 1 would exchange rows of 8 bytes in blocks of 4 where rank 0 exchanges .* of 3"
        for rank in range(2):
            self.assertRegex(result.stderr, f"rank {rank}: {said}")
        os.remove(self.path("in.1.npz"))
        result = self.run_tool(*options, "--ranks", "2")
        self.assertRegex(result.stderr, "rank 0: COMM_FAILED: .*: rank 1: ")
        self.assertRegex(result.stderr, "rank 1: .*No such file")

    def run_processes(self, options, names, store=None, **environment):
        if store is None:
            store = self.path("store" + names[0])
            os.mkdir(store)
        processes = [
            subprocess.Popen(
                [MOE_RUN, PROGRAM, *options, "--store", store],
                env={**os.environ, names[0]: str(rank), names[1]: "2", **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        outputs = [process.communicate(timeout=60) for process in processes]
        return [(process.returncode, *output) for process, output in zip(processes, outputs, strict=True)]

    def test_ranks_in_processes(self):
        parts, options = self.halves()
        for names in (
            ("RANK", "WORLD_SIZE"),
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
        ):
            self.assertEqual(self.run_processes(options, names), [(0, "", "")] * 2)
            self.check_swapped(parts)
        os.remove(self.path("in.1.npz"))
        shutil.rmtree(self.path("storeRANK"))
        options = (*options, "--timeout-ms", "20000")
        for code, _, text in self.run_processes(options, ("RANK", "WORLD_SIZE")):
            self.assertEqual(code, 1)
            self.assertIn("No such file", text)

    def free_port(self):
        with socket.socket() as one:
            one.bind(("localhost", 0))
            return one.getsockname()[1]

    def test_ranks_that_meet_at_an_address(self):
        parts, options = self.halves()
        names = ("RANK", "WORLD_SIZE")
        self.assertEqual(self.run_processes(options, names, f"tcp://localhost:{self.free_port()}"), [(0, "", "")] * 2)
        self.check_swapped(parts)
        # As torchrun says it, with and without an agent that listens at the port itself.
        self.save("out.0.npz", y=parts[0])
        port = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(self.free_port())}
        self.assertEqual(self.run_processes(options, names, "env://", **port), [(0, "", "")] * 2)
        self.check_swapped(parts)
        with socket.socket() as agent:
            agent.bind(("localhost", 0))
            agent.listen()
            port.update(MASTER_PORT=str(agent.getsockname()[1]), TORCHELASTIC_USE_AGENT_STORE="True")
            self.assertEqual(self.run_processes(options, names, "env://", **port), [(0, "", "")] * 2)

    def test_bad_addresses(self):
        _, options = self.halves()
        options = (*options, "--timeout-ms", "500")
        names = ("RANK", "WORLD_SIZE")
        port = self.free_port()
        for store, message in (
            ("tcp://nowhere", "'nowhere' is no address, expected host:port"),
            ("tcp://localhost:port", "'localhost:port' is no address: "),
            ("env://", "--store env:// needs MASTER_ADDR and MASTER_PORT, which are not set"),
        ):
            for code, _, text in self.run_processes(options, names, store):
                self.assertEqual(code, 1)
                self.assertIn(message, text)
        with socket.socket() as other:
            other.bind(("localhost", port))
            other.listen()
            (_, _, first), (_, _, second) = self.run_processes(options, names, f"tcp://localhost:{port}")
            self.assertIn(f"rank 0 cannot listen at 'localhost:{port}'", first)
            self.assertIn("rank 0 has left, or '", second)
        self.bad(
            f"rank 1 of 2 does not find the others at 'tcp://localhost:{port}': rank 0 does not answer",
            *options,
            "--store",
            f"tcp://localhost:{port}",
            env={"RANK": "1", "WORLD_SIZE": "2"},
        )
        self.bad(
            f"rank 0 of 2 does not find the others at 'tcp://localhost:{port}': ",
            *options,
            "--store",
            f"tcp://localhost:{port}",
            env={"RANK": "0", "WORLD_SIZE": "2"},
        )

    def test_ranks_under_mpirun(self):
        parts, options = self.halves()
        os.mkdir(self.path("mpi"))
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
        for store in (self.path("mpi"), f"tcp://localhost:{self.free_port()}"):
            done = subprocess.run(
                [*mpirun, MOE_RUN, PROGRAM, *options, "--store", store], capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            self.check_swapped(parts)
            for rank in range(2):
                os.remove(self.path(f"out.{rank}.npz"))
        _, options = self.halves((6, 8))
        done = subprocess.run(
            [*mpirun, MOE_RUN, PROGRAM, *options, "--store", f"tcp://localhost:{self.free_port()}"],
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr, "rank [01]: COMM_FAILED: .*rank 1 would exchange rows of 8 bytes in blocks of 4 where"
        )

    def running(self):
        """The parent of each process that has not ended."""
        found = {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat") as stream:
                    state, parent = stream.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue  # it has ended
            if state != "Z":
                found[int(entry)] = int(parent)
        return found

    def test_a_rank_is_killed_under_mpirun(self):
        _, options = self.halves()
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", MOE_RUN, PROGRAM, *options[:4]]
        command += ["--bench", "--repeat", "1000000", "--store", f"tcp://localhost:{self.free_port()}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as mpirun:
            deadline, ranks = time.monotonic() + 20, []
            while len(ranks) < 2 and time.monotonic() < deadline:
                time.sleep(0.1)
                ranks = [process for process, parent in self.running().items() if parent == mpirun.pid]
            time.sleep(2)  # until they exchange
            os.kill(ranks[0], signal.SIGKILL)
            _, errors = mpirun.communicate(timeout=20)
        self.assertNotEqual(mpirun.returncode, 0, errors)
        self.assertFalse(set(ranks) & set(self.running()), errors)

    def test_bench(self):
        a, b = self.pair()
        output = self.good(
            "--entry", "add", "--input", self.save("in.npz", a=a, b=b), "--bench", "--repeat", "5", "--threads", "2"
        )
        time, head, *steps = output.splitlines()
        self.assertRegex(time, r"^time: median [0-9.]+ ms, min [0-9.]+, max [0-9.]+ of 5 runs with 2 threads$")
        self.assertEqual(head.split(), ["step", "us", "time", "flops", "bytes", "TFLOP/s", "TB/s", "roofline"])
        # The program does not say what its kernel costs.
        for step in steps:
            self.assertRegex(step, r"^add +[0-9.]+ +[0-9.]+% +- +- +- +- +-$")
        self.assertEqual(len(steps), 2)

    def test_report_of_a_program_that_does_not_say_what_it_costs(self):
        a, b = self.pair()
        self.good("--entry", "add", "--input", self.save("in.npz", a=a, b=b), "--report", self.path("report.html"))
        with open(self.path("report.html")) as stream:
            page = stream.read()
        self.assertIn("No step says that it computes.", page)
        self.assertNotIn("FLOP</b>", page)
        self.assertNotIn("moved at most", page)
        self.assertEqual(page.count('<td class="name">add</td>'), 2)


if __name__ == "__main__":
    print(f"MOE_SEED={SEED}")
    unittest.main(argv=sys.argv[:1])
