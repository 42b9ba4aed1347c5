#!/usr/bin/env python3
"""Fits the register estimate to what ptxas made of real kernels, and says how far off it is.

    scripts/calibrate_estimate.py [--folds 8] [--check]

Reads calibration/registers.csv, a line for each kernel and compute capability, which scripts/measure_registers.py makes. Writes
crates/report/src/estimate/model.txt (trees, how errors are spread, and the range of what was measured), the columns `held_out` and
`fitted` of the same data, the tables of docs/register-estimate.md and the chart beside it. With --check nothing is written: the exit
status is 1 if the committed files are not what the data give.

Errors are held out: families of kernels (one project each, in the column `family`) are divided into folds, and every kernel is
estimated by a model that has seen no kernel of its family. `held_out` has these estimates, `fitted` those of the model that is
written, which has seen all. The width of the interval of a kernel is estimated by further trees, fitted to held-out errors; the
interval of a kernel is checked with trees and quantiles from other folds than its own. Kernels for a debugger are estimated by a
rule, not by trees. Needs numpy, scikit-learn and lightgbm.
"""

import argparse
import csv
import re
import sys

import lightgbm
import numpy as np
from sklearn.model_selection import GroupKFold

import common
from judging import most_warps, warps
from measure_registers import DATA, KEYS, RESULTS, RULES

MODEL = common.ROOT / "crates" / "report" / "src" / "estimate" / "model.txt"
DOCUMENT = common.ROOT / "docs" / "register-estimate.md"
CHART = common.ROOT / "docs" / "register-estimate.svg"

# Not inputs: what ptxas would like is estimated first, and the limit applied to that; for a debugger there is a rule.
NOT_INPUTS = ("register_limit", "debug", "debug_peak", "debug_over_calls")
# Shares are of the order with loads first, or of LLVM's if that needs fewer; loads may take so many registers in any kernel.
BASE, LLVM_ORDER, FREE_REGISTERS = "peak_within_target", "source_peak", 32
# Registers beside those of the schedule, roughly; keeps ratios of small kernels from running wild.
OFFSET = 6
# Features in registers, which are also given as shares of the base.
SHARES = (
    "pressure", "divergent_pressure", "source_peak", "all_peak", "loads_first_peak", "latency_peak", "loads_in_flight",
    "live_between_blocks", "live_into_loops", "temporaries", "uniform_peak", "live_over_calls", "spaced_within_target", "least_peak",
    "least_spaced", "kept_peak", "kept_within_target", "live_with_loads", "innermost_loads", "nested_loads", "called_by_address",
    "live_over_exchanges",
)
# Registers of a kernel that calls what is not known, and cells that may live over the call without more.
CALL_REGISTERS, LIVE_WITHIN = 24, 2
# For a debugger: registers beside those of the PTX, and what a value costs that lives over a call.
DEBUG_OFFSET, DEBUG_CALL_OFFSET, DEBUG_CALL_FACTOR = 6, 12, 2
# Kernels of these have made-up types or constants, or come from test suites. At full weight, held-out errors on CUDA and Julia were larger
# and those on the four as large.
MADE_UP, WEIGHT_OF_MADE_UP = ("Triton", "numba", "OpenMP", "MLIR", "TVM", "Slang"), 0.5
QUANTILES = np.arange(0.025, 1, 0.05)
LIMIT = 255
# Each of these counts is as usual as it occurs more often than similar ones do: by so much of the logarithm, and with so many measurements
# added to each.
COUNTS = np.arange(4, LIMIT + 1)
SIMILAR, MORE_OF_EACH = 0.12, 0.3
# From and up to which need the estimate is a usual count, and how far from the need it may be: a factor, and so many registers.
CHOSEN, CHOSEN_WITHIN, CHOSEN_MORE = (4, 120), 1.5, 2
# An estimate that is not close costs 1, and each `unit` that it is off costs this much more, up to so many units. One with which other
# warps fit on a multiprocessor costs more, too.
WEIGHT_OF_DISTANCE, MOST_DISTANCE, WEIGHT_OF_WARPS = 0.3, 8, 0.4
# Bytes of spill stores and loads for each register that is missing, roughly.
SPILLED_BYTES_OF_REGISTER = 16
# Floor and share of what counts as close.
CLOSE = (2, 0.1)
# Kernels that the interval holds, and a little more for those of other projects.
COVERED = 0.81
# The least spread of errors that is told from others, as a logarithm of a ratio.
LEAST_SPREAD = 0.02
# An input is unlike all that was measured from this multiple of the largest measured value on, and this much more.
UNLIKE_FACTOR, UNLIKE_MORE = 1.25, 8
TREES = dict(
    objective="huber", alpha=0.15, n_estimators=480, learning_rate=0.07, num_leaves=31, subsample=0.7, subsample_freq=1,
    colsample_bytree=0.25, min_child_samples=6, path_smooth=10,
)
SPREAD_TREES = dict(
    objective="l2", n_estimators=60, learning_rate=0.08, num_leaves=8, subsample=0.7, subsample_freq=1, colsample_bytree=0.4,
    min_child_samples=30,
)


# Steps of occupancy up to which ptxas likes to fill registers: further trees say how likely a kernel is to get at most so many. LEAST_SHARE is
# added to the share that they give the counts between two steps, so that trees that are certain exclude nothing.
STEPS, LEAST_SHARE = np.array([24, 32, 40, 48, 56, 64, 72, 80, 96, 128, 168]), 0.001
STEP_TREES = dict(
    objective="binary", n_estimators=100, learning_rate=0.1, num_leaves=24, subsample=0.7, subsample_freq=1, colsample_bytree=0.25,
    min_child_samples=12, path_smooth=5,
)


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
        self.front_end = np.array([row["front_end"] for row in rows])
        self.sm = np.array([int(row["sm"]) for row in rows])
        self.warps = np.array([most_warps(sm) for sm in self.sm])
        self.has_limit_added = np.array([row["limit_added"] != "0" for row in rows])
        self.is_of_these_rules = np.array([int(row["rules"]) == RULES for row in rows])
        self.spilled = np.array([int(row["spilled_bytes"]) for row in rows])
        self.limit = self.column("register_limit").astype(np.float64)
        self.is_debug = self.column("debug") > 0
        # What ran into its limit does not say what it needs.
        self.is_free = (self.registers < 0.9 * self.limit) & (self.spilled == 0) | (self.limit == LIMIT)
        # What spilled at the limit of the hardware would have liked more: as much as it moved, roughly, but no more than twice.
        wanted = np.minimum(self.registers + self.spilled / SPILLED_BYTES_OF_REGISTER, 2 * self.registers)
        self.target = np.log(np.where(self.is_free, wanted, self.registers))
        self.allotted = self.column("allotted_registers")
        target = np.maximum(self.allotted, np.float32(FREE_REGISTERS))
        base = np.minimum(self.column(BASE), np.maximum(self.column(LLVM_ORDER), target)) + np.float32(OFFSET)
        over_calls = CALL_REGISTERS + np.maximum(self.column("live_over_calls") - LIVE_WITHIN, 0)
        self.least = np.where(self.column("unknown_calls") > 0, over_calls, 0)
        peak, over = self.column("debug_peak") + DEBUG_OFFSET, self.column("debug_over_calls")
        self.for_debugger = np.maximum(peak, np.where(over > 0, DEBUG_CALL_FACTOR * over + DEBUG_CALL_OFFSET, 0))
        self.inputs = [name for name in self.names if name not in NOT_INPUTS]
        plain = [self.column(name) for name in self.inputs]
        shares = [(self.column(name) + np.float32(OFFSET)) / base for name in SHARES]
        self.x = np.stack(plain + shares, axis=1)
        families, counts = np.unique(self.family, return_counts=True)
        of_family = dict(zip(families, counts))
        # A family with many kernels says more than one with few, but not as much more.
        self.weight = np.array([of_family[family] ** -0.5 for family in self.family])
        self.weight[np.isin(self.front_end, MADE_UP)] *= WEIGHT_OF_MADE_UP

    def column(self, name):
        return self.features[:, self.names.index(name)]


def words_of(tree):
    """The nodes of a tree of lightgbm: each is followed by all of its left side, then its right side."""
    words, open_nodes = [], [tree["tree_structure"]]
    while open_nodes:
        node = open_nodes.pop()
        if "leaf_value" in node:
            words.append(f"{node['leaf_value']:.4g}")
        else:
            words.append(f"{node['split_feature']}<{node['threshold']:.7g}")
            open_nodes += [node["right_child"], node["left_child"]]
    return words


def fit(table, rows, target, parameters, start=None):
    """Trees, as lists of words, and the constant that their sum is added to: the median if none is given."""
    model = lightgbm.LGBMRegressor(**parameters, random_state=1, n_jobs=1, deterministic=True, force_row_wise=True, verbose=-1)
    start = float(f"{np.median(target[rows]):.6g}") if start is None else start
    model.fit(table.x[rows], target[rows] - start, sample_weight=table.weight[rows])
    return start, [words_of(tree) for tree in model.booster_.dump_model()["tree_info"]]


def evaluate(model, table, rows):
    """The sum of the trees, as crates/report/src/estimate/model.rs computes it."""
    start, trees = model
    x = table.x[rows].astype(np.float64)
    total = np.full(len(x), start)
    for words in trees:
        open_nodes = [np.arange(len(x))]
        for word in words:
            members = open_nodes.pop()
            feature, _, threshold = word.partition("<")
            if threshold:
                is_left = x[members, int(feature)] <= float(threshold)
                open_nodes += [members[~is_left], members[is_left]]
            else:
                total[members] += np.float32(feature)
    return total


def needed(model, table, rows):
    """What kernels need, without the limit."""
    by_trees = np.maximum(np.exp(evaluate(model, table, rows)), table.least[rows])
    return np.where(table.is_debug[rows], table.for_debugger[rows], by_trees)


def fit_steps(table, rows):
    """For each step, trees whose sum is the logarithm of the odds that a kernel gets at most so many registers."""
    rows = rows[table.allotted[rows] == 0]
    return [fit(table, rows, (table.registers <= step).astype(float), STEP_TREES, start=0.0) for step in STEPS]


def at_most(models, table, rows):
    """The probability that kernels get at most as many registers as each step."""
    return np.stack([1 / (1 + np.exp(-evaluate(model, table, rows))) for model in models], axis=1)


def weighed_by_steps(counts, share, probabilities):
    """Shares of counts in which those between two steps have together what trees say of the steps."""
    within = (counts[0] <= STEPS) & (STEPS < counts[-1])
    ends = np.maximum.accumulate(np.append(probabilities[within], 1))
    wanted = np.diff(ends, prepend=0)
    part = np.searchsorted(STEPS[within], counts)
    own = np.bincount(part, weights=share, minlength=len(wanted)) / share.sum()
    return share * ((wanted + LEAST_SHARE) / (own + LEAST_SHARE))[part]


class UsualCounts:
    """How often ptxas gives kernels each of COUNTS, compared with similar counts. That depends on the warps of a multiprocessor: ptxas fills
    registers up to a step of occupancy, and most of its counts are even. Where bounds allot registers, steps mean nothing to it."""

    def __init__(self, table, rows):
        near = np.exp(-0.5 * ((np.log(COUNTS)[:, None] - np.log(COUNTS)[None, :]) / SIMILAR) ** 2)
        near /= near.sum(axis=1, keepdims=True)

        def histogram(of):
            return np.bincount(table.registers[of].astype(int), weights=table.weight[of], minlength=LIMIT + 1)[COUNTS[0] :]

        rows = rows[table.allotted[rows] == 0]
        every = histogram(rows)
        self.weights = {}
        for most in (32, 48, 64):
            own = histogram(rows[table.warps[rows] == most])
            smooth = own + every * own.sum() / every.sum() + MORE_OF_EACH * table.weight.mean()
            # Kernels at the limit only show that they would need more.
            ratio = np.where(COUNTS < LIMIT, smooth / (near @ smooth), 1)
            self.weights[most] = np.array([float(f"{weight:.3g}") for weight in ratio])

    def likely(self, need, spread, probabilities, table, rows):
        """The estimate for kernels by what they need: the count for which the expected cost of being off is least."""
        # For a debugger, and where the calling convention decides, what the rule says; where registers are allotted, what is needed.
        chosen = 2 * np.floor(need / 2 + 0.5)
        is_open = ~table.is_debug[rows] & (table.allotted[rows] == 0) & (need > table.least[rows]) & (CHOSEN[0] <= need) & (need < CHOSEN[1])
        for place in np.flatnonzero(is_open):
            low, high = np.floor(need[place] / CHOSEN_WITHIN) - CHOSEN_MORE, np.ceil(need[place] * CHOSEN_WITHIN) + CHOSEN_MORE
            is_near = (low <= COUNTS) & (COUNTS <= high)
            counts = COUNTS[is_near].astype(float)
            distance = np.log(counts / need[place]) / spread[place]
            share = self.weights[table.warps[rows[place]]][is_near] / (counts * (1 + distance * distance) ** 1.5)
            share = weighed_by_steps(counts, share, probabilities[place])
            off = np.abs(counts[:, None] - counts[None, :]) / unit(counts)[None, :]
            fit = np.array([warps(count, table.sm[rows[place]]) for count in COUNTS[is_near]])
            cost = (off > 1) + WEIGHT_OF_DISTANCE * np.minimum(off, MOST_DISTANCE) + WEIGHT_OF_WARPS * (fit[:, None] != fit[None, :])
            chosen[place] = counts[(cost @ share).argmin()]
        return np.where(table.is_debug[rows], need, chosen)


def unit(registers):
    return np.maximum(CLOSE[0], CLOSE[1] * registers)


def ranges(table, rows):
    """The largest value of each input that counts as like what was measured."""
    return UNLIKE_FACTOR * table.x[rows][:, : len(table.inputs)].max(axis=0) + UNLIKE_MORE


class HeldOut:
    """Estimates by models that have not seen the family, and intervals by errors of other families."""

    def __init__(self, table, folds):
        count = len(table.registers)
        self.need, self.spread, fold_of = np.zeros(count), np.ones(count), np.zeros(count, dtype=int)
        at_steps = np.zeros((count, len(STEPS)))
        self.is_unlike, self.is_covered = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.low, self.high, self.risk = np.zeros(count), np.zeros(count), np.zeros(count)
        self.estimate = np.zeros(count, dtype=int)
        everything = np.arange(count)
        target = table.target
        by_trees = table.is_free & ~table.is_debug
        for fold, (others, rows) in enumerate(GroupKFold(folds).split(table.x, groups=table.family)):
            known = others[by_trees[others]]
            self.need[rows] = needed(fit(table, known, target, TREES), table, rows)
            at_steps[rows] = at_most(fit_steps(table, known), table, rows)
            self.is_unlike[rows] = (table.x[rows][:, : len(table.inputs)] > ranges(table, known)).any(axis=1) & ~table.is_debug[rows]
            fold_of[rows] = fold
        self.error = target - np.log(self.need)
        for fold in range(folds):
            others, rows = everything[(fold_of != fold) & by_trees], everything[fold_of == fold]
            self.spread[rows] = self.spread_of(self.fit_spread(table, others), table, rows)
        for fold in range(folds):
            rows = fold_of == fold
            for is_debug in (False, True):
                known = (fold_of != fold) & table.is_free & (table.is_debug == is_debug)
                these = rows & (table.is_debug == is_debug)
                if known.any():
                    self.add_interval(table, these, known)
            usual = UsualCounts(table, everything[~rows & by_trees])
            likely = usual.likely(self.need[rows], self.spread[rows], at_steps[rows], table, everything[rows])
            self.estimate[rows] = limited(likely, table.limit[rows])
        self.low, self.high = np.minimum(self.low, self.estimate), np.maximum(self.high, self.estimate)
        self.is_covered = (self.low <= table.registers) & (table.registers <= self.high)

    def fit_spread(self, table, rows):
        return fit(table, rows, np.log(np.abs(self.error) + LEAST_SPREAD), SPREAD_TREES)

    @staticmethod
    def spread_of(model, table, rows):
        return np.where(table.is_debug[rows], 1, np.exp(evaluate(model, table, rows)))

    def interval(self, table, rows):
        """The narrowest interval of errors, in units of the spread, that holds four of five of these kernels."""
        errors = (self.error / self.spread)[rows]
        need, spread, limit, registers = self.need[rows], self.spread[rows], table.limit[rows], table.registers[rows]
        found = []
        for low in np.arange(0.04, 0.2, 0.02):
            for high in np.arange(0.8, 0.98, 0.02):
                bounds = np.quantile(errors, (low, high))
                ends = [limited(need * np.exp(bound * spread), limit) for bound in bounds]
                held = ((ends[0] <= registers) & (registers <= ends[1])).mean()
                found.append((held < COVERED, (ends[1] - ends[0]).mean(), *bounds))
        return min(found)[2:]

    def add_interval(self, table, rows, known):
        low, high = self.interval(table, known)
        errors = (self.error / self.spread)[known]
        for bounds, quantile in ((self.low, low), (self.high, high)):
            bounds[rows] = limited(self.need[rows] * np.exp(quantile * self.spread[rows]), table.limit[rows])
        ends = self.need[rows][:, None] * np.exp(np.quantile(errors, QUANTILES)[None, :] * self.spread[rows][:, None])
        self.risk[rows] = 100 * (ends > table.limit[rows][:, None]).mean(axis=1)


def limited(need, limit):
    """The estimate: what is needed, up to the limit, as a whole number."""
    return np.floor(np.minimum(need, limit) + 0.5).astype(int)


def figures(estimate, table, rows):
    error = np.abs(estimate[rows] - table.registers[rows])
    close = error <= unit(table.registers[rows])
    return f"{rows.sum()} | {np.median(error):g} | {error.mean():.1f} | {100 * close.mean():.0f}%"


def accuracy(table, estimate, found):
    """The table of the documentation: errors by SM, front end and size."""
    lines = ["| SM | kernels | median error | mean error | within max(2, 10%) | in the interval |", "|---|---|---|---|---|---|"]
    plain = ~table.is_debug & ~table.has_limit_added
    groups = [(f"sm_{sm}", plain & (table.sm == sm)) for sm in sorted(set(table.sm))]
    groups += [(f"front end {front_end}", plain & (table.front_end == front_end)) for front_end in sorted(set(table.front_end))]
    bounds = (0, 24, 32, 48, 80, 160, LIMIT, LIMIT + 1)
    for low, high in zip(bounds, bounds[1:]):
        name = f"{low} to {high - 1} registers" if high - low > 1 else f"{low} registers"
        groups.append((name, plain & (low <= table.registers) & (table.registers < high)))
    groups += [("like what was measured", plain & ~found.is_unlike), ("unlike what was measured", plain & found.is_unlike)]
    groups += [("bounds allot registers", plain & (table.allotted > 0)), ("with today's features", plain & table.is_of_these_rules)]
    groups += [("`.maxnreg` added", table.has_limit_added), ("for a debugger", table.is_debug), ("all but the last two", plain)]
    for name, rows in groups:
        if rows.any():
            lines.append(f"| {name} | {figures(estimate, table, rows)} | {100 * found.is_covered[rows].mean():.0f}% |")
    return "\n".join(lines)


def calibration(table, found):
    """The table of spill risks: what was said, and how often it happened. Bounded kernels only."""
    lines = ["| risk said | kernels | spilled or at the limit |", "|---|---|---|"]
    at_limit = (table.spilled > 0) | (table.registers >= table.limit)
    for low, high in ((0, 5), (5, 25), (25, 50), (50, 75), (75, 101)):
        rows = ~table.is_debug & ~table.has_limit_added & (found.risk >= low) & (found.risk < high)
        if rows.any():
            lines.append(f"| {low} to {min(high, 100)}% | {rows.sum()} | {100 * at_limit[rows].mean():.0f}% |")
    return "\n".join(lines)


def chart(registers, estimate):
    """Estimate against ptxas, both on logarithmic axes."""
    ticks = (8, 16, 32, 64, 128, 255)
    side, margin = 420, 40

    def place(value):
        return (np.log2(value) - np.log2(6)) / (np.log2(270) - np.log2(6)) * side

    points = sorted({(int(of_ptxas), int(ours)) for of_ptxas, ours in zip(registers, estimate)})
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


def replaced(text, first_line, new):
    """The text with the table that starts with this line replaced."""
    return re.sub(re.escape(first_line) + r".*?(?=\n\n)", lambda _: new, text, flags=re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing them")
    arguments = parser.parse_args()
    rows = load()
    table = Table(rows)
    found = HeldOut(table, arguments.folds)
    everything = np.arange(len(rows))
    by_trees = np.flatnonzero(table.is_free & ~table.is_debug)
    model = fit(table, by_trees, table.target, TREES)
    spread = found.fit_spread(table, by_trees)
    usual, steps = UsualCounts(table, by_trees), fit_steps(table, by_trees)
    need, spreads = needed(model, table, everything), found.spread_of(spread, table, everything)
    fitted = limited(usual.likely(need, spreads, at_most(steps, table, everything), table, everything), table.limit)
    for row, ours, own in zip(rows, found.estimate, fitted):
        row["held_out"], row["fitted"] = ours, own
    errors = found.error / found.spread

    def numbers(values):
        return " ".join(f"{value:.4g}" for value in values)

    head = [f"inputs {' '.join(table.inputs)}", f"shares {' '.join(SHARES)}", f"most {numbers(ranges(table, by_trees))}"]
    for name, chosen in (("", table.is_free & ~table.is_debug), ("debug_", table.is_free & table.is_debug)):
        head.append(f"{name}interval {numbers(found.interval(table, chosen))}")
        head.append(f"{name}errors {numbers(np.quantile(errors[chosen], QUANTILES))}")
    head += [f"usual_{most} {numbers(weights)}" for most, weights in usual.weights.items()]
    head += [f"start {model[0]:.6g}", f"spread_start {spread[0]:.6g}"]
    head.append(f"steps {' '.join(str(step) for step in STEPS)}")
    forests = {"tree": model, "spread": spread} | {f"step {step}": trees for step, trees in zip(STEPS, steps)}
    trees = [f"{name} {' '.join(words)}" for name, (_, trees) in forests.items() for words in trees]
    text = "\n".join(head + trees) + "\n"
    tables = [accuracy(table, found.estimate, found), calibration(table, found)]
    print(f"{len(rows)} measurements of {len(set(row['kernel'] for row in rows))} kernels, {len(set(table.family))} families")
    print("\n\n".join(tables))
    plain = ~table.is_debug & ~table.has_limit_added
    width = (found.high - found.low)[plain].mean()
    print(f"\nmean width of the interval {width:.1f} registers")
    document = DOCUMENT.read_text()
    for new in tables:
        document = replaced(document, new.splitlines()[0], new)
    if arguments.check:
        sys.exit(int(MODEL.read_text() != text or document != DOCUMENT.read_text()))
    MODEL.write_text(text)
    CHART.write_text(chart(table.registers[plain], found.estimate[plain]))
    with DATA.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*KEYS, *RESULTS, *table.names[1:]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    DOCUMENT.write_text(document)


if __name__ == "__main__":
    main()
