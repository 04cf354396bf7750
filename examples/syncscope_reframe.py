"""ReFrame: measures with syncscope and follows each number over time.

    reframe -c examples/syncscope_reframe.py -r -S only='cpu.barrier.*'

`syncscope` has to be in PATH. Site configurations give systems and partitions; without one, ReFrame runs it here. The
figures become performance variables in ns; give `reference` per system in a subclass to fail on slower ones.
"""

import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class SyncscopeTest(rfm.RunOnlyRegressionTest):
    """A run on one node, with the CPUs of the whole node."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    #: The primitives to measure.
    only = variable(str, value="cpu.barrier.*")
    #: `quick`, `standard` or `paper`.
    preset = variable(str, value="quick")
    executable = "syncscope"
    exclusive_access = True
    time_limit = "20m"

    @run_before("run")
    def measure(self):
        self.executable_opts = ["run", "--only", f"'{self.only}'", "--preset", self.preset, "--out", "run"]
        # Lines of `name: value unit` for the functions below.
        self.postrun_cmds = ["syncscope show run --format reframe"]
        self.keep_files = ["run"]

    @sanity_function
    def is_complete(self):
        return sn.all([
            sn.assert_found(r"^run.status: done", self.stdout, "the run is not complete"),
            sn.assert_found(r"^\S+: \S+ ns$", self.stdout, "no row has a number"),
        ])

    @run_before("performance")
    def read_figures(self):
        # Evaluated here and now, where the folder of the test is not the current one.
        output = os.path.join(self.stagedir, sn.evaluate(self.stdout))
        figures = sn.extractall(r"^(?P<name>\S+): (?P<ns>\S+) ns$", output, ("name", "ns"), (str, float))
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(ns), "ns") for name, ns in sn.evaluate(figures)
        }
