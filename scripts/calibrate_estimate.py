#!/usr/bin/env python3
"""Fits the register estimate to what ptxas made of real kernels, and says how far off it is.

    scripts/calibrate_estimate.py [--folds 10] [--check]

Reads calibration/registers.csv, a line for each kernel and compute capability, which scripts/measure_registers.py makes. Writes
crates/report/src/estimate/model.txt (trees, and how errors are spread), the columns `held_out` and `fitted` of the same data, the table of
docs/register-estimate.md and the chart beside it. With --check nothing is written: the exit status is 1 if the committed files
are not what the data give.

Errors are held out: families of kernels (one application or folder each, in the column `family`) are divided into folds, and every
kernel is estimated by a model that has seen no kernel of its family. `held_out` has these estimates, `fitted` those of the model
that is written, which has seen all. Needs numpy and scikit-learn.
"""

import argparse
import csv
import re
import sys

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import GroupKFold

import common
from measure_registers import DATA, KEYS, RESULTS

MODEL = common.ROOT / "src" / "report" / "estimate" / "model.txt"
DOCUMENT = common.ROOT / "docs" / "register-estimate.md"
CHART = common.ROOT / "docs" / "register-estimate.svg"

# Not an input: what ptxas would like is estimated first, and the limit applied to that.
NOT_INPUTS = ("register_limit",)
BASE = "peak_within_32"
# Registers beside those of the schedule, roughly; keeps ratios of small kernels from running wild.
OFFSET = 6
# Features in registers, which are also given as shares of the base.
SHARES = (
    "pressure", "divergent_pressure", "source_peak", "all_peak", "loads_first_peak", "peak_within_64", "latency_peak",
    "unrolled_peak", "unrolled_within_32", "loads_in_flight", "live_between_blocks", "live_into_loops", "temporaries",
    "uniform_peak", "live_over_calls", "source_spaced", "loads_first_spaced", "spaced_within_32", "unrolled_spaced",
)
# Registers of a kernel that calls what is not known, and cells that may live over the call without more.
CALL_REGISTERS, LIVE_WITHIN = 24, 2
QUANTILES = np.arange(0.025, 1, 0.05)
LIMIT = 255
# Floor and share of what counts as close, and the unit that errors are measured in.
CLOSE = (2, 0.1)


def load():
    with DATA.open() as file:
        return list(csv.DictReader(file))


class Table:
    """The data as arrays."""

    def __init__(self, rows):
        self.names = ["sm"] + [name for name in rows[0] if name not in KEYS + RESULTS]
        self.features = np.array([[row[name] for name in self.names] for row in rows], dtype=np.float32)
        self.registers = np.array([row["registers"] for row in rows], dtype=np.float64)
        self.family = np.array([row["family"] for row in rows])
        self.sm = np.array([int(row["sm"]) for row in rows])
        spilled = np.array([int(row["spilled_bytes"]) for row in rows])
        self.limit = self.column("register_limit").astype(np.float64)
        # What ran into its limit does not say what it needs.
        self.is_free = (self.registers < 0.9 * self.limit) & (spilled == 0) | (self.limit == LIMIT)
        self.base = np.maximum(self.column(BASE), 0) + np.float32(OFFSET)
        over_calls = CALL_REGISTERS + np.maximum(self.column("live_over_calls") - LIVE_WITHIN, 0)
        self.least = np.where(self.column("unknown_calls") > 0, over_calls, 0)
        self.inputs = [name for name in self.names if name not in NOT_INPUTS]
        plain = [self.column(name) for name in self.inputs]
        shares = [(self.column(name) + np.float32(OFFSET)) / self.base for name in SHARES]
        self.x = np.stack(plain + shares, axis=1)

    def column(self, name):
        return self.features[:, self.names.index(name)]


def fit(table, rows):
    """Trees, as lists of nodes, and the constant that their sum is added to."""
    families, counts = np.unique(table.family[rows], return_counts=True)
    of_family = dict(zip(families, counts))
    # A family with many kernels says more than one with few, but not as much more.
    weight = np.array([of_family[family] ** -0.5 for family in table.family[rows]])
    target = np.log(table.registers[rows] / table.base[rows])
    model = GradientBoostingRegressor(
        loss="huber", alpha=0.8, n_estimators=220, learning_rate=0.07, max_depth=4, subsample=0.6, min_samples_leaf=8,
        max_features=0.3, random_state=1,
    )
    model.fit(table.x[rows], target, sample_weight=weight)
    trees = []
    for (estimator,) in model.estimators_:
        tree = estimator.tree_
        nodes, open_nodes = [], [0]
        # Each node is followed by all of its left side, then its right side.
        while open_nodes:
            node = open_nodes.pop()
            if tree.children_left[node] < 0:
                nodes.append(f"{model.learning_rate * tree.value[node, 0, 0]:.5g}")
            else:
                nodes.append(f"{tree.feature[node]}<{tree.threshold[node]:.7g}")
                open_nodes += [tree.children_right[node], tree.children_left[node]]
        trees.append(nodes)
    return float(f"{model.init_.constant_[0, 0]:.6g}"), trees


def evaluate(model, table, rows):
    """What the model says, in registers, without the limit; as crates/report/src/estimate/model.rs computes it."""
    start, trees = model
    x = table.x[rows].astype(np.float64)
    total = np.full(len(x), start)
    for nodes in trees:
        open_nodes = [(np.arange(len(x)))]
        for node in nodes:
            members = open_nodes.pop()
            feature, _, threshold = node.partition("<")
            if threshold:
                is_left = x[members, int(feature)] <= float(threshold)
                open_nodes += [members[~is_left], members[is_left]]
            else:
                total[members] += float(feature)
    return np.maximum(np.exp(total) * table.base[rows], table.least[rows])


def unit(registers):
    return np.maximum(CLOSE[0], CLOSE[1] * registers)


def held_out(table, folds):
    """Estimates by models that have not seen the family, and limits of the interval by errors of other families."""
    need = np.zeros(len(table.registers))
    fold_of = np.zeros(len(need), dtype=int)
    for fold, (others, rows) in enumerate(GroupKFold(folds).split(table.x, groups=table.family)):
        need[rows] = evaluate(fit(table, others[table.is_free[others]]), table, rows)
        fold_of[rows] = fold
    error = (table.registers - need) / unit(need)
    covered = np.zeros(len(need), dtype=bool)
    for fold in range(folds):
        low, high = np.quantile(error[(fold_of != fold) & table.is_free], (0.1, 0.9))
        rows = fold_of == fold
        bounds = [need[rows] + side * unit(need[rows]) for side in (low, high)]
        bounds = [np.round(np.minimum(bound, table.limit[rows])) for bound in bounds]
        covered[rows] = (bounds[0] <= table.registers[rows]) & (table.registers[rows] <= bounds[1])
    return need, covered, np.quantile(error[table.is_free], QUANTILES), np.quantile(error[table.is_free], (0.1, 0.9))


def limited(need, table):
    """The estimate: what is needed, up to the limit, as a whole number."""
    return np.floor(np.minimum(need, table.limit) + 0.5).astype(int)


def figures(estimate, table, rows):
    error = np.abs(estimate[rows] - table.registers[rows])
    close = error <= unit(table.registers[rows])
    return f"{rows.sum()} | {np.median(error):g} | {error.mean():.1f} | {100 * close.mean():.0f}%"


def document(table, estimate, covered):
    """The table of the documentation."""
    lines = ["| SM | kernels | median error | mean error | within max(2, 10%) | in the interval |", "|---|---|---|---|---|---|"]
    for name, rows in [(f"sm_{sm}", table.sm == sm) for sm in sorted(set(table.sm))] + [("all", table.sm > 0)]:
        lines.append(f"| {name} | {figures(estimate, table, rows)} | {100 * covered[rows].mean():.0f}% |")
    return "\n".join(lines)


def chart(table, estimate):
    """Estimate against ptxas, both on logarithmic axes."""
    ticks = (8, 16, 32, 64, 128, 255)
    side, margin = 420, 40

    def place(value):
        return (np.log2(value) - np.log2(6)) / (np.log2(270) - np.log2(6)) * side

    points = sorted({(int(of_ptxas), int(ours)) for of_ptxas, ours in zip(table.registers, estimate)})
    marks = "".join(f"M{margin + place(max(x, 6)):.0f} {margin + side - place(max(y, 6)):.0f}h0" for x, y in points)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side + 2 * margin}" height="{side + 2 * margin}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="white"/><path d="M{margin} {margin + side}l{side} -{side}" stroke="#999"/>',
    ]
    for tick in ticks:
        at = place(tick)
        out.append(f'<text x="{margin + at:.0f}" y="{margin + side + 15}" text-anchor="middle">{tick}</text>')
        out.append(f'<text x="{margin - 6}" y="{margin + side - at + 4:.0f}" text-anchor="end">{tick}</text>')
    out.append(f'<path d="{marks}" stroke="#06c" stroke-opacity="0.4" stroke-width="5" stroke-linecap="round"/>')
    out.append(f'<text x="{margin + side / 2:.0f}" y="{side + 2 * margin - 6}" text-anchor="middle">registers by ptxas</text>')
    out.append(f'<text x="{margin}" y="24">held-out estimate</text></svg>')
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    arguments = parser.parse_args()
    rows = load()
    table = Table(rows)
    need, covered, spread, bounds = held_out(table, arguments.folds)
    estimate = limited(need, table)
    model = fit(table, np.flatnonzero(table.is_free))
    fitted = limited(evaluate(model, table, np.arange(len(rows))), table)
    for row, ours, own in zip(rows, estimate, fitted):
        row["held_out"], row["fitted"] = ours, own
    head = [
        f"inputs {' '.join(table.inputs)}", f"shares {' '.join(SHARES)}", f"start {model[0]}",
        f"interval {' '.join(f'{bound:.4g}' for bound in bounds)}", f"errors {' '.join(f'{error:.4g}' for error in spread)}",
    ]
    text = "\n".join(head + [" ".join(["tree", *nodes]) for nodes in model[1]]) + "\n"
    of_document = document(table, estimate, covered)
    print(f"{len(rows)} measurements of {len(set(row['kernel'] for row in rows))} kernels, {len(set(table.family))} families")
    print(of_document)
    if arguments.check:
        sys.exit(int(MODEL.read_text() != text or of_document not in DOCUMENT.read_text()))
    MODEL.write_text(text)
    CHART.write_text(chart(table, estimate))
    with DATA.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*KEYS, *RESULTS, *table.names[1:]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    if DOCUMENT.exists():
        old = DOCUMENT.read_text()
        DOCUMENT.write_text(re.sub(r"\| SM \| kernels.*?(?=\n\n)", lambda _: of_document, old, flags=re.DOTALL))


if __name__ == "__main__":
    main()
