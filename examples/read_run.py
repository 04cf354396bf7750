#!/usr/bin/env python3
"""Reads the rows of a syncscope run with pandas and prints the ten most expensive resolved ones.

    python3 examples/read_run.py results/h200

Needs pandas (https://pandas.pydata.org). docs/FORMATS.md says what each column means.
"""

import json
import sys
from pathlib import Path

import pandas


def read_rows(run):
    """The rows of the run in the folder `run`, one for each case.

    Large tables of stored runs are compressed; pandas unpacks them by itself. An empty cell is NaN: not applicable, or
    not available.
    """
    plain, packed = run / "measurements.csv", run / "measurements.csv.gz"
    rows = pandas.read_csv(
        plain if plain.exists() else packed,
        # Without these, pandas guesses: an id of digits becomes a number, and a count with missing values a fraction.
        dtype={"case_id": str, "placement": str, "group": str, "threads": "Int64", "blocks": "Int64"},
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
    )
    # While a run goes on, a case may have two rows. The last one counts.
    return rows.drop_duplicates("case_id", keep="last")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: read_run.py RUN")
    run = Path(sys.argv[1])
    about = json.loads((run / "run.json").read_text(encoding="utf-8"))
    gpus = ", ".join(gpu["name"] for gpu in about["machine"]["gpus"])
    print(f"{about['machine']['cpu']['model']}; {gpus or 'no GPU'}; {about['preset']}; {about['started']}")

    rows = read_rows(run)
    # A figure counts only with the verdict Resolved. `ns_low` and `ns_high` are the interval to quote.
    resolved = rows[rows["verdict"] == "Resolved"]
    print(f"{len(resolved)} of {len(rows)} rows are resolved")
    columns = ["primitive", "dtype", "layout", "threads", "blocks", "ns", "ns_low", "ns_high"]
    print(resolved.nlargest(10, "ns")[columns].to_string(index=False, na_rep=""))


if __name__ == "__main__":
    main()
