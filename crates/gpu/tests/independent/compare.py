#!/usr/bin/env python3
"""Holds the rows of runs against `rows` and against SyncPerformance: compare.py WORK PEER. See run.sh."""
import csv, glob, random, re, subprocess, sys

KEY = ['primitive', 'dtype', 'layout', 'stride', 'threads', 'blocks', 'space', 'mode', 'group', 'form']
PROGRAMS = {
    'cuda_atomicadd_scalar_v2': ('gpu.atomic.add', 'shared', ''), 'cuda_atomicadd_array_v2': ('gpu.atomic.add', 'private', ''),
    'cuda_atomiccas_array_fail': ('gpu.atomic.cas_fail', 'private', ''), 'cuda_atomiccas_array_pass': ('gpu.atomic.cas_pass', 'private', ''),
    'cuda_atomiccas_scalar_fail': ('gpu.atomic.cas_fail', 'shared', ''), 'cuda_atomiccas_scalar_pass': ('gpu.atomic.cas_pass', 'shared', ''),
    'cuda_atomicexch_v2': ('gpu.atomic.exchange', 'shared', ''), 'cuda_threadfence_array': ('gpu.fence.device', 'private', ''),
    'cuda_threadfence_block_array': ('gpu.fence.block', 'private', 'fenced'), 'cuda_threadfence_system_array': ('gpu.fence.system', 'private', ''),
    'cuda_shfl_sync': ('gpu.shuffle.idx', '', ''), 'cuda_shfl_down_sync': ('gpu.shuffle.down', '', ''), 'cuda_shfl_xor_sync': ('gpu.shuffle.xor', '', 'opaque'),
    'cuda_syncthreads': ('gpu.block.syncthreads', '', ''), 'cuda_match_any_sync': ('gpu.match.any', '', 'opaque'),
    'cuda_match_all_sync': ('gpu.match.all', '', 'opaque'), 'cuda_vote_all_sync': ('gpu.vote.all', '', ''), 'cuda_vote_any_sync': ('gpu.vote.any', '', ''),
}
TYPES = {'i32': 0, 'u64': 1, '': 0}


def rows(work, runs):
    found = {}
    for run in runs:
        for row in csv.DictReader(open(f'{work}/{run}/measurements.csv')):
            if row['domain'] == 'gpu' and row['scope'] not in ('system',) or row['primitive'] == 'gpu.fence.system':
                found.setdefault(tuple(row[k] for k in KEY), row)
    return found


def figure(row):
    """What equal work costs, if that is another figure, and the interval, both in cycles."""
    number = lambda name: float(row[name]) if row[name] else None
    if row['equal_work_ns']:
        cycles, ns = number('equal_work_cycles'), number('equal_work_ns')
        return cycles, cycles / ns * number('equal_work_low'), cycles / ns * number('equal_work_high'), 'equal'
    return number('cycles'), number('cycles_within_low'), number('cycles_within_high'), 'mean'


def report(name, ours, theirs, low, high, row):
    """One line; whether it is within 3 % or both intervals meet."""
    point, from_, to, which = ours
    if point is None:
        print(f'NONE {name} {row["verdict"]} {row["reason"][:60]}')
        return None
    near = abs(point / theirs - 1) <= 0.03
    meets = from_ is not None and from_ <= high and to >= low
    word = 'near' if near else 'meet' if meets else 'FAR '
    span = f'[{from_:.2f} {to:.2f}]' if from_ is not None else ''
    print(f'{word} {name}: {which} {point:.2f} {span} theirs {theirs:.2f} [{low:.2f} {high:.2f}] {point / theirs:.3f} {row["verdict"]}')
    return near or meets


def independent(work):
    ours, good, all_ = rows(work, ['quick', 'shared', 'fences']), 0, 0
    for line in open(f'{work}/rows.txt'):
        if line.startswith('#'):
            continue
        *key, point, low, high = line.strip().split(',')
        row = ours.get(tuple(key))
        if row is None:
            print('MISSING', key)
            continue
        result = report(' '.join(key), figure(row), float(point), float(low), float(high), row)
        good, all_ = good + (result is True), all_ + (result is not None)
    print(f'INDEPENDENT {good} of {all_}')


def peers(work, peer, count=100):
    ours, cases = rows(work, ['peers']), []
    for program, (primitive, layout, form) in PROGRAMS.items():
        for key, row in ours.items():
            if row['primitive'] == primitive and row['layout'] == layout and row['form'] == form and row['dtype'] in TYPES and row['space'] != 'shared' \
               and not (row['mode'] == 'throughput' and primitive.startswith(('gpu.shuffle', 'gpu.vote', 'gpu.match'))) and row['cycles']:
                cases.append((program, row))
    random.Random(67).shuffle(cases)
    # As many of each program.
    order = {}
    for program, row in cases:
        order.setdefault(program, []).append((program, row))
    picked, turn = [], 0
    while len(picked) < count and turn < max(map(len, order.values())):
        picked += [of[turn] for of in order.values() if turn < len(of)]
        turn += 1
    good = all_ = 0
    for program, row in picked[:count]:
        cost = figure(row)[0]
        iterations = max(2, min(100, int(4e6 / cost / 100)))
        arguments = [TYPES[row['dtype']], row['threads'], row['blocks'], iterations] + ([row['stride']] if row['layout'] == 'private' else [])
        runs, means = [], []
        for _ in range(3):
            text = subprocess.run([f'{peer}/{program}', *map(str, arguments)], capture_output=True, text=True, timeout=60).stdout
            found = re.search(r'max per op: ([\d.-]+)', text)
            if found:
                runs.append(float(found[1]))
                means.append(float(re.search(r'avg per op: ([\d.-]+)', text)[1]))
            if runs and abs(cost / runs[0] - 1) < 0.02:
                break
        if not runs or min(runs) <= 0:
            print('NO PEER', program, arguments, text[-100:])
            continue
        runs.sort()
        name = f'{program} {" ".join(row[k] for k in KEY[1:6])} n{iterations} avg {means[0]:.1f}'
        result = report(name, figure(row), runs[len(runs) // 2], runs[0], runs[-1], row)
        good, all_ = good + (result is True), all_ + (result is not None)
    print(f'PEERS {good} of {all_}')


def limits(work):
    for path in sorted(glob.glob(f'{work}/*/measurements.csv')):
        bad = [row for row in csv.DictReader(open(path)) if 'below the' in row['reason']]
        print('LIMITS', path.split('/')[-2], len(bad), [' '.join(row[k] for k in KEY) + ' ' + row['reason'][:90] for row in bad[:5]])
    by = {key: row for key, row in rows(work, ['shared']).items() if key[6] == 'shared' and row['verdict'] == 'Resolved'}
    for key, row in by.items():
        one = by.get(key[:5] + ('132',) + key[6:])
        if key[5] == '264' and one:
            print('BLOCKS', ' '.join(key), f"{float(row['cycles']) / float(one['cycles']):.4f} of one block, {row['cycles']}")


if __name__ == '__main__':
    work, peer = sys.argv[1:]
    for part in (lambda: independent(work), lambda: limits(work), lambda: peers(work, peer)):
        try:
            part()
        except Exception as error:
            print('FAILED', repr(error))
