#!/usr/bin/env python3
"""Holds rows of runs against lines of key=value pairs of an independent program: hold.py LINES RUN... See blocks.cu, orders.cu, waits.cu."""
import csv, sys

SAME = {'group': lambda row: row['group'].replace(' ', '_')}


def matches(row, line):
    return all(SAME.get(key, lambda row, key=key: row[key])(row) == value for key, value in line.items() if key not in ('cycles', 'ns', 'limit'))


def main(lines, runs):
    rows = [row for run in runs for row in csv.DictReader(open(f'{run}/measurements.csv'))]
    good = all_ = 0
    for text in open(lines):
        if text.startswith('#') or '=' not in text:
            print(text.strip()) if text.startswith('#') else None
            continue
        line = dict(pair.split('=', 1) for pair in text.split())
        unit = 'cycles' if 'cycles' in line else 'ns'
        wanted = {'form': '', 'group': '', **line} if line['primitive'].startswith('gpu.atomic.add') else line
        found = [row for row in rows if matches(row, wanted)]
        name = ' '.join(value for key, value in line.items() if key not in ('cycles', 'ns', 'limit'))
        found = found[:1] if len({row["case_id"] for row in found}) == 1 else found
        if len(found) != 1:
            print(f'MISSING {len(found)} {name}')
            continue
        row, theirs, limit = found[0], float(line[unit]), float(line.get('limit', 0.05))
        ours = row['equal_work_' + unit] or row[unit]
        all_ += 1
        if not ours:
            print(f'NONE {name} theirs {theirs:.1f} {row["verdict"]} {row["check"]} {row["reason"][:110]}')
            continue
        ratio = float(ours) / theirs if theirs else 0
        near = abs(ratio - 1) <= limit or abs(float(ours) - theirs) < 0.6 and unit == 'cycles'
        good += near
        print(f'{"near" if near else "FAR "} {name}: {float(ours):.1f} {unit}, theirs {theirs:.1f}, {ratio:.3f}, {row["verdict"]} {row["check"]}')
    print(f'HELD {good} of {all_}')


main(sys.argv[1], sys.argv[2:])
