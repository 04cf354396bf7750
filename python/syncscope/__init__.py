"""What synchronization costs on this machine, from Python.

    import syncscope
    run = syncscope.read("results/h200")
    run.frame().query("family == 'barrier'")
    found = syncscope.measure(cpu="atomic_fetch_add(&x, 1)", against="atomic_exchange(&x, 1)", threads=[1, 2])
    for each in found.comparisons:
        print(each.case, each.ratio, each.low, each.high)

This module starts the `syncscope` command, which decides everything: the one in its own wheel, else the first in `PATH`;
the variable `SYNCSCOPE` names another one. Keywords are the options of the command (`syncscope run --help`): `no_history=True`
is `--no-history`, `threads=[1, 2]` is `--threads 1,2`, and a list for an option that may be repeated repeats it:
`arg=["buf:1M", "i32:7"]`, or `grid=[(64, 2), (32, 4)]` for a kernel and the one to compare it with.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence, Union

__all__ = ["Comparison", "Measurement", "Run", "SyncscopeError", "measure", "read", "resume", "run"]

PathLike = Union[str, "os.PathLike[str]"]

#: Options of the command that are repeated for several values; all others take a list with commas.
_REPEATED = frozenset({"only", "skip", "include", "I", "D", "kernel", "arg"})
#: Options with which the command prints something else than a run.
_WITHOUT_A_RUN = frozenset({"dry_run", "header", "sass", "instructions", "orderings"})
#: Done, and done although some cases failed or became slower. All other exit codes are errors.
_DONE = frozenset({0, 3})


class SyncscopeError(RuntimeError):
    """The command ended without a result. The text is its own; `exit_code` is 1 (failed) or 2 (wrong usage)."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Run:
    """One run: `about` is its `run.json`, `rows` has one mapping for each case. docs/COLUMNS.md describes the columns.

    A cost counts only where `row["verdict"] == "Resolved"`; `ns_low` and `ns_high` are the interval to quote. `None` means not
    applicable, or not available.
    """

    name: str
    about: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    def frame(self) -> Any:
        """The rows as a data frame of pandas, or of polars where only that is installed. Raises ImportError without both."""
        try:
            import pandas
        except ImportError:
            try:
                import polars
            except ImportError:
                raise ImportError("Run.frame needs pandas or polars; Run.rows needs neither") from None
            return polars.DataFrame(list(self.rows), infer_schema_length=None)
        # An integer with absent values stays an integer.
        return pandas.DataFrame(list(self.rows)).convert_dtypes()


@dataclass(frozen=True)
class Comparison:
    """One case of two operations that were measured in turn: the cost of `operation` over that of `against`.

    `ratio` is `None` where the two cannot be compared, and `change` says why or what follows: `faster`, `slower`, `same`,
    `undecided` or `not_comparable`. `low` and `high` are the 95 % interval of the ratio.
    """

    operation: str
    against: str
    case: str
    change: str
    ratio: float | None
    low: float | None
    high: float | None
    remark: str


@dataclass(frozen=True)
class Measurement:
    """What `measure` found: the rows of all operations, and a comparison for each case of each pair."""

    run: Run
    comparisons: Sequence[Comparison]


def read(directory: PathLike) -> Run:
    """Reads a stored run. Raises SyncscopeError if `directory` is none, and warns if rows of a damaged one are left out."""
    found = json.loads(_command("show", "--format", "json", "--", os.fspath(directory)))
    return Run(found["name"], found["run"], found["rows"])


def run(out: PathLike, **options: Any) -> Run:
    """Measures this machine into the new directory `out`: `run("a", preset="standard", only=["cpu.lock.*"])`."""
    _command("run", "--out", os.fspath(out), *_arguments(options))
    return read(out)


def resume(directory: PathLike, **options: Any) -> Run:
    """Goes on with a run that was interrupted, or whose time budget was spent."""
    _command("run", "--resume", os.fspath(directory), *_arguments(options))
    return read(directory)


def measure(
    *,
    cpu: str | Sequence[str] = (),
    gpu: str | Sequence[str] = (),
    against: str | Sequence[str] = (),
    out: PathLike | None = None,
    **options: Any,
) -> Measurement:
    """Measures statements or files of C, C++ (`cpu`) or CUDA C++ (`gpu`), and compares them with `against` if it is given.

    They are compiled and run with your privileges. The results go to the new directory `out`, or nowhere.
    """
    code = [text for side, given in (("--cpu", cpu), ("--gpu", gpu)) if given for text in (side, *_list(given))]
    code += ["--against", *_list(against)] if against else []
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch, "measured") if out is None else Path(out)
        exported = Path(scratch, "exported.json")
        _command("measure", *code, "--out", str(directory), "--export-json", str(exported), *_arguments(options))
        pairs = json.loads(exported.read_text(encoding="utf-8"))["comparisons"]
        return Measurement(read(directory), [comparison for pair in pairs for comparison in _comparisons(pair)])


def _comparisons(pair: Mapping[str, Any]) -> Sequence[Comparison]:
    # The command says how B changed from A.
    return [
        Comparison(
            operation=pair["b"]["name"],
            against=pair["a"]["name"],
            case=case["case"],
            change=case["change"],
            ratio=case["ratio"],
            low=case["ratio_low"],
            high=case["ratio_high"],
            remark=case["remark"],
        )
        for case in pair["cases"]
    ]


def _list(value: Any) -> list[str]:
    return [str(value)] if isinstance(value, str) or not isinstance(value, Iterable) else [str(each) for each in value]


def _arguments(options: Mapping[str, Any]) -> list[str]:
    arguments: list[str] = []
    for name, value in options.items():
        if name in _WITHOUT_A_RUN and value not in (None, False):
            raise SyncscopeError(f"{name} gives no run to return: start the command itself, `syncscope --help`", 2)
        option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif name in _REPEATED or isinstance(value, (list, tuple)) and any(isinstance(each, (list, tuple)) for each in value):
            all_values = [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
            arguments += [text for each in all_values for text in (option, ",".join(_list(each)))]
        elif value is not None and value is not False:
            arguments += [option, ",".join(_list(value))]
    return arguments


def _program() -> str:
    found = os.environ.get("SYNCSCOPE") or _own_program() or shutil.which("syncscope")
    if found is None:
        raise SyncscopeError("the command syncscope is not installed: pip install syncscope, or name it in SYNCSCOPE", 1)
    return found


def _own_program() -> str | None:
    """The command that was installed with this module: into an environment, for one user (`pip install --user`) or into a folder
    (`--target`), which need not be in `PATH`."""
    modules = Path(__file__).resolve().parents[1]
    schemes = [sysconfig.get_paths(scheme) for scheme in sysconfig.get_scheme_names()]
    has_modules = [paths for paths in schemes if modules in (Path(paths["purelib"]).resolve(), Path(paths["platlib"]).resolve())]
    folders = [paths["scripts"] for paths in has_modules] + [str(modules / "bin")]
    programs = (os.path.join(folder, "syncscope") for folder in folders)
    return next((program for program in programs if os.access(program, os.X_OK)), None)


def _command(*arguments: str) -> str:
    """What the command prints. Its warnings become those of Python, in the name of the caller of this module."""
    try:
        ended = subprocess.run([_program(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    except OSError as error:
        raise SyncscopeError(f"cannot start {_program()}: {error.strerror}", 1) from None
    if ended.returncode not in _DONE:
        said = ended.stderr.splitlines()
        lines = [line[len("error: ") :] for line in said if line.startswith("error: ")] or said[-1:]
        raise SyncscopeError("\n".join(lines) or f"syncscope ended with {ended.returncode}", ended.returncode)
    for line in ended.stderr.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: ") :], stacklevel=3)
    return ended.stdout
