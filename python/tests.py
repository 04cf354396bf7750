"""What the module makes of the command. `python3 python/tests.py`, with the command in SYNCSCOPE."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import unittest.mock
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import syncscope

ROOT = Path(__file__).parents[1]
STORED = ROOT / "results" / "h200"


class Reading(unittest.TestCase):
    def test_a_stored_run_has_the_rows_of_its_table(self):
        run = syncscope.read(STORED)
        self.assertEqual(run.about["preset"], "quick")
        with gzip.open(STORED / "measurements.csv.gz", "rt") as table:
            self.assertEqual(len(run.rows), len(table.readlines()) - 1)
        self.assertTrue(all(row["ns_low"] <= row["ns"] <= row["ns_high"] for row in run.rows if row["verdict"] == "Resolved"))

    def test_what_is_no_run_is_an_error_in_one_line(self):
        with self.assertRaises(syncscope.SyncscopeError) as caught:
            syncscope.read("nowhere")
        self.assertIn("nowhere", str(caught.exception))
        self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_rows_that_are_left_out_are_warned_of(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = syncscope.read(STORED)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "copy")
            shutil.copytree(STORED, copy)
            table = copy / "measurements.csv"
            with gzip.open(f"{table}.gz", "rt", encoding="utf-8") as stored:
                lines = stored.read().splitlines()
            table.write_text("\n".join([*lines[:-1], lines[-1][:30]]) + "\n", encoding="utf-8")
            with self.assertWarnsRegex(UserWarning, f"line {len(lines)}.* left out") as caught:
                damaged = syncscope.read(copy)
            self.assertEqual(len(damaged.rows), len(run.rows) - 1)
            self.assertEqual(Path(caught.filename), Path(__file__), "the caller is told")

    def test_a_name_is_no_option(self):
        with self.assertRaisesRegex(syncscope.SyncscopeError, "--help is not a syncscope run"):
            syncscope.read("--help")

    def test_the_command_of_the_same_installation_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder).resolve()
            user = sysconfig.get_paths("posix_user", {"userbase": str(home)})
            for modules, commands in [(user["purelib"], user["scripts"]), (home / "target", home / "target" / "bin")]:
                shutil.copytree(Path(syncscope.__file__).parent, Path(modules, "syncscope"))
                Path(commands).mkdir(parents=True)
                own = Path(commands, "syncscope")
                own.write_text("#!/bin/sh\n")
                own.chmod(0o755)
                ask = f"import sys; sys.path.insert(0, {str(modules)!r}); import syncscope; print(syncscope._program())"
                environment = {**os.environ, "PYTHONUSERBASE": str(home)}
                environment.pop("SYNCSCOPE", None)
                found = subprocess.run([sys.executable, "-c", ask], env=environment, stdout=subprocess.PIPE, check=True)
                self.assertEqual(found.stdout.decode().strip(), str(own))

    def test_the_notebook_finds_what_it_says(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)
        names = {}
        for cell in json.loads((ROOT / "examples" / "findings.ipynb").read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)

    def test_a_frame_keeps_whole_numbers(self):
        run = syncscope.read(STORED)
        try:
            frame = run.frame()
        except ImportError as error:
            self.assertIn("pandas or polars", str(error))
            return
        self.assertEqual(len(frame), len(run.rows))
        self.assertIn("Int", str(frame["threads"].dtype))


class Number:
    """As one of NumPy: not of a type of Python's."""

    def __init__(self, value):
        self.value = value

    def __str__(self):
        return str(self.value)


class Measuring(unittest.TestCase):
    def test_options_are_those_of_the_command(self):
        given = {"threads": [1, 2], "only": ["cpu.*", "gpu.*"], "no_history": True, "seed": 7, "budget": None, "I": "include"}
        expected = "--threads 1,2 --only cpu.* --only gpu.* --no-history --seed 7 -I include".split()
        self.assertEqual(syncscope._arguments(given), expected)
        self.assertEqual(syncscope._arguments({"threads": Number(8), "out": Path("a")}), ["--threads", "8", "--out", "a"])
        kernels = {"kernel": ["a", "b"], "arg": ["buf:1M", "i32:7"], "grid": [(64, 2), (32,)], "block": (8, 4)}
        expected = "--kernel a --kernel b --arg buf:1M --arg i32:7 --grid 64,2 --grid 32 --block 8,4".split()
        self.assertEqual(syncscope._arguments(kernels), expected)

    def test_what_gives_no_run_is_refused(self):
        for option in ["dry_run", "instructions", "orderings"]:
            with self.assertRaisesRegex(syncscope.SyncscopeError, f"{option} gives no run") as caught:
                syncscope.measure(cpu="x += 1", **{option: True})
            self.assertEqual(caught.exception.exit_code, 2)
        with self.assertRaisesRegex(syncscope.SyncscopeError, "dry_run gives no run"):
            syncscope.run("nowhere", dry_run=True)
        self.assertEqual(syncscope._arguments({"dry_run": False}), [])

    @unittest.mock.patch.dict(os.environ, SYNCSCOPE_FAKE="clock=nominal")
    def test_a_run_and_a_wrong_option(self):
        with tempfile.TemporaryDirectory() as folder:
            run = syncscope.run(Path(folder, "run"), only="cpu.atomic.add", dtype="i32", no_history=True)
            self.assertTrue(run.rows)
            self.assertEqual({row["dtype"] for row in run.rows}, {"i32"})
            with self.assertRaises(syncscope.SyncscopeError) as caught:
                syncscope.run(Path(folder, "other"), no_such_option=True)
            self.assertEqual(caught.exception.exit_code, 2)

    @unittest.mock.patch.dict(os.environ, SYNCSCOPE_FAKE="clock=nominal,dwell=2ms")
    def test_a_run_without_time_is_resumed(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(syncscope.SyncscopeError, "budget is spent"):
                syncscope.run(Path(folder, "run"), only="cpu.atomic.add", no_history=True, budget="1ms")
            with unittest.mock.patch.dict(os.environ, SYNCSCOPE_FAKE="clock=nominal"):
                self.assertEqual(syncscope.resume(Path(folder, "run")).about["status"], "done")
                with self.assertRaisesRegex(syncscope.SyncscopeError, "nothing to resume"):
                    syncscope.resume(Path(folder, "run"))

    def test_two_operations_have_a_ratio_with_its_interval(self):
        pauses = "for (int i = 0; i < 8; i++) __builtin_ia32_pause();" if os.uname().machine == "x86_64" else 'for (int i = 0; i < 64; i++) asm volatile("yield");'
        once = pauses.replace("8;", "4;").replace("64;", "32;")
        found = syncscope.measure(cpu=pauses, against=once, threads=1, budget="8s", D=["UNUSED=1"])
        comparison, = found.comparisons
        self.assertEqual({row["primitive"] for row in found.run.rows}, {comparison.operation, comparison.against})
        if comparison.ratio is not None:
            self.assertLess(comparison.low, comparison.high)
            self.assertGreater(comparison.high, 1.0)


if __name__ == "__main__":
    unittest.main()
