#!/usr/bin/env python3
"""Holds rows of runs in this folder against what independent programs printed: compare.py PART... See scripts/independent."""
import csv, glob, random, re, subprocess, sys
from statistics import median

KEY = ['primitive', 'dtype', 'layout', 'stride', 'threads', 'blocks', 'space', 'mode', 'group', 'form']
# Of each program: the row, its layout, form and mode.
PROGRAMS = {
    'cuda_atomicadd_scalar_v2': ('gpu.atomic.add', 'shared', '', 'throughput'),
    'cuda_atomicadd_array_v2': ('gpu.atomic.add', 'private', '', 'throughput'),
    'cuda_atomiccas_array_fail': ('gpu.atomic.cas_fail', 'private', '', 'throughput'),
    'cuda_atomiccas_array_pass': ('gpu.atomic.cas_pass', 'private', '', 'throughput'),
    'cuda_atomiccas_scalar_fail': ('gpu.atomic.cas_fail', 'shared', '', 'throughput'),
    'cuda_atomiccas_scalar_pass': ('gpu.atomic.cas_pass', 'shared', '', 'throughput'),
    'cuda_atomicexch_v2': ('gpu.atomic.exchange', 'shared', '', 'throughput'),
    'cuda_threadfence_array': ('gpu.fence.device', 'private', '', 'throughput'),
    'cuda_threadfence_block_array': ('gpu.fence.block', 'private', 'fenced', 'throughput'),
    'cuda_threadfence_system_array': ('gpu.fence.system', 'private', '', 'throughput'),
    'cuda_shfl_sync': ('gpu.shuffle.idx', '', '', 'latency'),
    'cuda_shfl_up_sync': ('gpu.shuffle.up', '', '', 'latency'),
    'cuda_shfl_down_sync': ('gpu.shuffle.down', '', '', 'latency'),
    'cuda_shfl_xor_sync': ('gpu.shuffle.xor', '', 'opaque', 'latency'),
    'cuda_syncthreads': ('gpu.block.syncthreads', '', '', 'latency'),
    'cuda_match_any_sync': ('gpu.match.any', '', 'opaque', 'latency'),
    'cuda_match_all_sync': ('gpu.match.all', '', 'opaque', 'latency'),
}
TYPES = {'i32': 0, 'u64': 1, '': 0}
# Where the peer's arrays begin.
PLACES = [0, 4096 * 331 + 512, 4096 * 1709]


def rows(runs):
    found = {}
    for run in runs:
        for row in csv.DictReader(open(f'{run}/measurements.csv')):
            if row['domain'] == 'gpu':
                found.setdefault(tuple(row[k] for k in KEY), row)
    return found


def figure(row):
    """What equal work costs, if that is another figure, and the printed interval, both in cycles."""
    number = lambda name: float(row[name]) if row[name] else None
    if row['equal_work_ns']:
        cycles, ns = number('equal_work_cycles'), number('equal_work_ns')
        return cycles, cycles / ns * number('equal_work_low'), cycles / ns * number('equal_work_high'), 'equal'
    ends = [number(name) for name in ('cycles_low', 'cycles_high', 'cycles_within_low', 'cycles_within_high')]
    ends = [end for end in ends if end is not None]
    return number('cycles'), min(ends, default=None), max(ends, default=None), 'mean'


class Table:
    """Counts the rows within 3 % or within both intervals, and prints the others."""

    def __init__(self, name):
        self.name, self.good, self.all = name, 0, 0

    def add(self, name, ours, theirs, low, high, row):
        point, from_, to, which = ours
        self.all += 1
        if point is None:
            print(f'NONE {name} {row["verdict"]} {row["reason"][:60]}')
            return
        near = abs(point / theirs - 1) <= 0.03
        meets = from_ is not None and from_ <= high and to >= low
        self.good += near or meets
        word = 'near' if near else 'meet' if meets else 'FAR '
        span = f'[{from_:.2f} {to:.2f}]' if from_ is not None else ''
        print(f'{word} {name}: {which} {point:.2f} {span} theirs {theirs:.2f} [{low:.2f} {high:.2f}] {point / theirs:.3f} {row["verdict"]}')

    def end(self):
        print(f'TABLE {self.name}: {self.good} of {self.all}')


def independent():
    ours, table = rows(['quick', 'atomics']), Table('independent GPU rows within 3 % or both intervals')
    for line in open('rows.txt'):
        if line.startswith('#'):
            continue
        *key, point, low, high = line.strip().split(',')
        row = ours.get(tuple(key))
        if row is None:
            print('MISSING', key)
            continue
        table.add(' '.join(key), figure(row), float(point), float(low), float(high), row)
    table.end()


def iterations(cost):
    """The peer's blocks run 100 operations before they read the clock. Blocks that the device serves last do so while others are timed
    already, so the timed part is long beside it, within a quarter of a second."""
    return max(2, min(400, int(5e8 / 27 / cost / 100)))


def places(row):
    return PLACES if row['layout'] == 'private' else PLACES[:2]


def chosen(count):
    """As many cases of each program, by a fixed seed: (program, row)."""
    of = {}
    for row in rows(['peers']).values():
        for program, facts in PROGRAMS.items():
            if facts == tuple(row[k] for k in ('primitive', 'layout', 'form', 'mode')) and row['dtype'] in TYPES and row['space'] != 'shared' and row['cycles']:
                of.setdefault(program, []).append(row)
    for program in sorted(of):
        random.Random(67).shuffle(of[program])
    turns = [(program, of[program][turn]) for turn in range(count) for program in sorted(of) if turn < len(of[program])]
    return turns[:count]


def peers(count=100):
    table, of = Table('SyncPerformance cases within 3 % or both intervals'), {}
    of_kernel = Table('the same by the time of its whole kernels')
    for program, row in chosen(count):
        of.setdefault(program, []).append(row)
    for program, cases in of.items():
        lines = []
        for row in cases:
            last = [row['stride']] if row['layout'] == 'private' else []
            n = iterations(figure(row)[0])
            lines += [' '.join(map(str, [place, TYPES[row['dtype']], row['threads'], row['blocks'], n] + last)) for place in places(row)]
        text = subprocess.run([f'peer/{program}'], input='\n'.join(lines) + '\n', capture_output=True, text=True, timeout=100).stdout
        found, whole = {}, {}
        for part in text.split('CASE ')[1:]:
            line = part.split('\n')[0].strip()
            for kind, pattern in ((found, r'max per op: ([\d.-]+)'), (whole, r'whole per op: ([\d.-]+)')):
                value = re.search(pattern, part)
                if value:
                    kind[line] = float(value[1])
        rest = iter(lines)
        for row in cases:
            own = [next(rest) for _ in places(row)]
            costs = [found[line] for line in own if line in found]
            wholes = [whole[line] * float(row['clock_hz']) / 1e9 for line in own if line in whole]
            name = f'{program} ' + ' '.join(row[k] for k in KEY[1:6])
            if not costs or median(costs) <= 0:
                print('NO PEER', name, text[-80:].replace('\n', ' '))
                continue
            table.add(name, figure(row), median(costs), min(costs), max(costs), row)
            if wholes and median(wholes) > 0:
                of_kernel.add('  the whole kernel', figure(row), median(wholes), min(wholes), max(wholes), row)
    table.end()
    of_kernel.end()


def limits():
    for run in ('quick', 'atomics', 'barriers'):
        every = list(csv.DictReader(open(f'{run}/measurements.csv')))
        bad = [row for row in every if 'below the' in row['reason']]
        print(f'TABLE rows above a hard limit in {run}: {len(bad)} of {len(every)}', [' '.join(row[k] for k in KEY) + ' ' + row['reason'][:90] for row in bad[:5]])
    shared = rows(['atomics', 'barriers'])
    blocks = [(row, shared.get(key[:5] + ('132',) + key[6:])) for key, row in shared.items() if key[5:8] == ('264', 'shared', 'throughput')]
    plain = lambda key: ('gpu.block.syncthreads',) + key[1:8] + ('',) + key[9:]
    named = [(row, shared.get(plain(key))) for key, row in shared.items() if key[0] == 'gpu.block.named_barrier' and key[8] == 'parts 1']
    for what, pairs, factor in (('two blocks a multiprocessor cost twice one', blocks, 2), ('a named barrier costs what __syncthreads does', named, 1)):
        good = all_ = 0
        for row, one in pairs:
            if one and figure(row)[0] and figure(one)[0]:
                ratio = figure(row)[0] / figure(one)[0] / factor
                good, all_ = good + (abs(ratio - 1) <= 0.01), all_ + 1
                print(f'{ratio:.4f}', ' '.join(row[k] for k in KEY), row['verdict'], figure(row)[:3])
        print(f'TABLE {what}, within 1 %: {good} of {all_}')


def launches():
    """Nanoseconds, and within 10 % of the nearest level."""
    theirs, good, met, all_ = {}, 0, 0, 0
    for line in open('launch.txt'):
        if line.startswith('IND '):
            *key, point, low, high, _ = line[4:].strip().split(',')
            theirs.setdefault(tuple(key), []).append([float(point), float(low), float(high)])
    for row in csv.DictReader(open('launches/measurements.csv')):
        found = theirs.get(tuple(row[k] for k in ('primitive', 'group', 'blocks', 'threads')))
        if not found:
            continue
        all_ += 1
        if not row['ns']:
            print('NONE', row['primitive'], row['group'], row['verdict'], row['reason'][:60])
            continue
        ns = float(row['ns'])
        own = min((point for point, _, _ in found), key=lambda point: abs(ns / point - 1))
        ends = [float(row[end]) for end in ('ns_low', 'ns_high', 'within_low', 'within_high') if row[end]]
        near = abs(ns / own - 1) <= 0.10
        meets = min(ends) <= max(high for _, _, high in found) and max(ends) >= min(low for _, low, _ in found)
        good, met = good + near, met + (near or meets)
        word = 'near' if near else 'meet' if meets else 'FAR '
        print(f'{word} {row["primitive"]} {row["group"]} {row["threads"]}: {ns:.0f} [{min(ends):.0f} {max(ends):.0f}] theirs {[round(one[0]) for one in found]} {ns / own:.3f} {row["verdict"]}')
    print(f'TABLE forms of the kernel boundary within 10 %: {good} of {all_}; or within both intervals: {met}')


def own():
    theirs = {}
    for line in open('own.txt'):
        if not line.startswith('#'):
            name, dtype, threads, blocks, *costs = line.strip().split(',')
            theirs[name, dtype, threads, blocks] = [float(cost) for cost in costs]
    good = all_ = 0
    for path in sorted(glob.glob('own-*/measurements.csv')):
        for row in csv.DictReader(open(path)):
            key = (row['primitive'].rsplit('.', 1)[1], row['dtype'], row['threads'], row['blocks'])
            found = theirs.get(key) or theirs.get((key[0], '', *key[2:]))
            text = f'{" ".join(key)} {row["group"]}: {row["ns"]} [{row["ns_low"]} {row["ns_high"]}] {row["verdict"]} {row["evidence"][:70]} {row["reason"][:70]}'
            if found is None or not row['ns']:
                print('alone', text)
                continue
            ratio = float(row['equal_work_ns'] or row['ns']) / found[0]
            good, all_ = good + (abs(ratio - 1) <= 0.03), all_ + 1
            print(f'{"near" if abs(ratio - 1) <= 0.03 else "FAR "} {ratio:.3f} of {found}', text)
    print(f'TABLE own code within 3 %: {good} of {all_}')


if __name__ == '__main__':
    for part in sys.argv[1:]:
        {'independent': independent, 'limits': limits, 'peers': peers, 'launches': launches, 'own': own}[part]()
