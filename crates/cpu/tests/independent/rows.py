#!/usr/bin/env python3
"""Holds the rows of a run against those of `rows.c`.

    rows.py RUN FIGURES...

RUN is the directory of a run, each of FIGURES what the program printed. Prints a line for each row and reading, and how many lie in the
interval for another run."""
import csv
import sys
from pathlib import Path
from statistics import median

USUAL = {"placement": ("close", "cores"), "form": ("",), "order": ("", "relaxed", "seq_cst"), "mode": ("throughput", "latency"), "inside": ("",), "outside": ("",)}


def number(cell):
    return float(cell) if cell else None


def rows(run):
    """The usual row of each name of the program's."""
    found = {}
    with open(Path(run) / "measurements.csv", newline="") as file:
        for row in csv.DictReader(file):
            if not all(row[name] in words for name, words in USUAL.items()):
                continue
            layout = row["layout"] + ("/" + row["stride"] if row["layout"] == "private" else "")
            group = row["group"].replace(" ", "_")
            # Updates have throughput, chains latency: the program's loops are the former.
            name = (row["primitive"], row["dtype"] or "-", layout or "-", row["threads"], group or "-")
            known = found.get(name)
            if known is None or row["mode"] == "throughput":
                found[name] = row
    return found


def readings(files):
    """name -> a list of [ns, cycles, slowest], one for each file: medians over the processes that wrote it."""
    found = {}
    for path in files:
        of_file = {}
        for line in open(path):
            words = line.split()
            if not words or words[0] != "figure" or words[1].startswith("work."):
                continue
            # What the program varies beyond the rows.
            if words[5].startswith("-") and words[5] != "-":
                continue
            of_file.setdefault(tuple(words[1:6]), []).append([float(word) for word in words[6:9]])
        for name, lines in of_file.items():
            found.setdefault(name, []).append([median(values) for values in zip(*lines)])
    return found


def main():
    run = rows(sys.argv[1])
    counts = {}
    for name, all_readings in readings(sys.argv[2:]).items():
        row = run.get(name)
        if row is None or number(row["ns"]) is None:
            print(*name, "is not in the run" if row is None else row["verdict"], [one[0] for one in all_readings])
            continue
        ns = number(row["ns"])
        # As it is printed: never narrower than within the run.
        ends = [number(row[end]) for end in ("ns_low", "ns_high", "within_low", "within_high") if row[end]]
        low, high = min(ends), max(ends)
        kind = "one thread" if name[3] == "1" else "wake-up" if ".wake." in name[0] else "team"
        is_mean = row["actor"] == "mean"
        texts = []
        for own_ns, own_cycles, slowest in all_readings:
            own = slowest if row["actor"] == "slowest" else own_ns
            inside = low <= own <= high
            near = abs(own / ns - 1) <= 0.15
            counted = counts.setdefault(kind, [0, 0, 0])
            counted[0] += 1
            counted[1] += inside
            counted[2] += inside or near
            cycles = f" {own_cycles / number(row['cycles']):.3f}" if own_cycles and row["cycles"] else ""
            texts.append(f"{own:.5g} ({own / ns:.3f}{cycles}{'' if inside else ' OUT'})")
        rate = number(row["rate_ns"])
        rates = f" rate {rate:.5g}: " + " ".join(f"{one[0] / rate:.3f}" for one in all_readings) if rate and not is_mean else ""
        print(*name, row["actor"], row["verdict"], f"{ns:.5g} [{low:.5g}, {high:.5g}]", *texts, rates, row["reason"][:60])
    for kind, (all_of, inside, near) in counts.items():
        what = f"{near} in it or within 15 %" if kind == "wake-up" else f"{inside} in the interval"
        print(f"TABLE CPU, {kind}: of {all_of} readings {what}")


if __name__ == "__main__":
    main()
