// What does not follow the selection: figures, functions, advice, phases.

const COLUMNS = [
  ["Function", (it) => it.function],
  ["Kind", (it) => it.is_kernel ? "kernel" : "function"],
  ["#SM", (it) => it.sm],
  ["#Instructions", (it) => it.instructions_out],
  ["#Peak r32", (it) => it.peak_pressure_r32],
  ["#Predicates", (it) => it.peak_pressure_pred],
  ["#Estimate", (it) => it.registers_estimate],
  ["#ptxas", (it) => it.ptxas_registers],
  ["#Spill risk %", (it) => it.spill_risk_percent],
  ["#Warps", (it) => it.occupancy_warps_per_sm],
  ["Limited by", (it) => it.occupancy_limiter?.replace("_", " ")],
];

/** The table of functions, sorted by a click on a column's name. */
function fillFunctions(page, column = null, isDown = false) {
  const shown = COLUMNS.filter(([, value]) => page.functions.some((it) => value(it) !== undefined));
  const order = page.functions.map((_, index) => index);
  if (column !== null) {
    const value = (index) => shown[column][1](page.functions[index]) ?? -1;
    const compare = (one, other) => typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
    order.sort((one, other) => (isDown ? -1 : 1) * compare(value(one), value(other)));
  }
  const rows = order.map((index) => ({
    cells: shown.map(([, value]) => String(value(page.functions[index]) ?? "")),
    attributes: {"data-index": index, "aria-selected": String(index === page.index)},
    action: () => page.go(index),
  }));
  const made = table(shown.map(([name]) => name), rows);
  made.querySelectorAll("th").forEach((head, index) => {
    const isSorted = index === column;
    if (isSorted) head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const sort = () => fillFunctions(page, index, isSorted ? !isDown : shown[index][0].startsWith("#"));
    head.replaceChildren(element("button", {onclick: sort}, head.textContent + (isSorted ? (isDown ? " ▾" : " ▴") : "")));
  });
  made.querySelectorAll("tbody td:first-child").forEach((cell) => cell.classList.add("name"));
  byId("functions").replaceChildren(made);
  if (column !== null) made.querySelectorAll("th button")[column].focus();
}

/** The headline figures. */
function fillFigures(report, code) {
  const peakRow = code.curves.r32.peakRow;
  const frame = code.count ? code.frames(peakRow)[0] : undefined;
  const figures = [];
  const add = (field, name, value, extra, isBad) => figures.push(element("div", {}, element("dt", {}, name),
    element("dd", {"data-field": field, class: isBad ? "bad" : undefined}, value), element("dd", {"data-extra": field, class: "extra"}, extra)));
  if (report.registers_estimate !== undefined) {
    const {registers_estimate_unlike: unlike, registers_estimate_reasons: reasons} = report;
    const likely = `likely ${report.registers_estimate_low} to ${report.registers_estimate_high}`;
    add("registers_estimate", "Registers, estimated", unlike ? `not known (${report.registers_estimate}?)` : report.registers_estimate,
      unlike ? `unlike all that was measured: ${unlike}` : likely, Boolean(unlike));
    if (reasons?.length) {
      add("registers_estimate_reasons", "Raised most by", `+${reasons[0].registers}`, reasons.map((it) => `${it.cause} +${it.registers}`).join(", "));
    }
    if (report.registers_estimate_optimized !== undefined) {
      add("registers_estimate_optimized", "Not for debuggers", report.registers_estimate_optimized, "estimated registers");
    }
  }
  if (report.ptxas_stack_bytes !== undefined) {
    const spilled = report.ptxas_spill_store_bytes + report.ptxas_spill_load_bytes;
    add("ptxas_registers", "Registers by ptxas", dash(report.ptxas_registers), spilled ? `${spilled} bytes spilled` : "nothing spilled", spilled > 0);
  }
  if (report.registers_limit !== undefined) {
    add("registers_limit", "Register limit", report.registers_limit, report.registers_limit ? "by launch bounds" : "launch bounds cannot be met", !report.registers_limit);
  }
  if (report.occupancy_warps_per_sm !== undefined) {
    const more = report.registers_for_more_warps === undefined ? "" : `; more with ≤ ${report.registers_for_more_warps} registers`;
    add("occupancy_warps_per_sm", `Occupancy, blocks of ${report.occupancy_threads_per_block}`, `${report.occupancy_warps_per_sm} / ${report.occupancy_max_warps_per_sm} warps`,
      `limited by ${report.occupancy_limiter.replace("_", " ")}${more}`);
  }
  add("peak_pressure_r32", "Peak pressure", report.peak_pressure_r32,
    frame?.line ? `@${code.numbers[peakRow]}, ${place(code, peakRow)}` : code.count ? `@${code.numbers[peakRow]}, bb.${report.peak_block ?? "–"}` : "no instructions");
  add("peak_pressure_pred", "Peak predicates", report.peak_pressure_pred, "");
  if (report.spill_risk_percent !== undefined) {
    add("spill_risk_percent", "Spill risk", `${report.spill_risk_percent} %`, report.registers_limit ? "within launch bounds" : "", report.spill_risk_percent >= 50);
  }
  add("instructions_out", "Instructions", report.instructions_out, `in ${report.blocks} block${report.blocks === 1 ? "" : "s"}`);
  if (report.static_shared_bytes) add("static_shared_bytes", "Static shared memory", report.static_shared_bytes, "bytes a block");
  byId("figures").replaceChildren(...figures);
}

/** What costs registers, time or memory, and the way out; a click goes to the place. */
function fillWarnings(page, report, code) {
  const rows = (report.warnings ?? []).map((warning) => {
    const row = warning.place ? code.numbers.indexOf(warning.place.instruction) : -1;
    return {
      cells: [place(code, row < 0 ? undefined : row), warning.problem, warning.cost, warning.remedy],
      attributes: {"data-warning": warning.kind},
      action: row < 0 ? undefined : () => page.select(row),
    };
  });
  byId("warnings-section").hidden = !rows.length;
  byId("warnings").replaceChildren(...(rows.length ? [table(["%Where", "Problem", "Cost", "Way out"], rows)] : []));
}

function fillLegend(code, file) {
  const classes = [...new Set(code.values.filter((value) => value.file === file).map((value) => value.name))].sort();
  byId("legend").replaceChildren(...classes.flatMap((name) => [element("span", {class: "key class-" + name}), name]));
}

/** Values that are shown at the peak. */
const ADVISED = 40;

/** The last row at or before another that defines a value; the first one if there is none. */
function definitionBefore(value, row) {
  const rows = value.accesses.filter((it) => it.role === "d").map((it) => it.row);
  return rows.findLast((it) => it <= row) ?? rows[0];
}

/** A row in few characters: its source line, if it has one; of the file that most rows come from without its name. */
function place(code, row) {
  if (row === undefined) return "";
  const frame = code.frames(row)[0];
  if (frame?.line && frame.file === code.mainFile) return `line ${frame.line}`;
  return frame?.line ? lineOf(frame) : `@${code.numbers[row]}`;
}

/** Characters of a place that a narrow column has room for. */
const PLACE_LENGTH = 16;

/** A long text without its middle: the end of a place, its line, tells it from others. */
function withoutMiddle(text) {
  const tail = Math.floor(PLACE_LENGTH * 2 / 3);
  return text.length <= PLACE_LENGTH ? text : `${text.slice(0, PLACE_LENGTH - tail - 1)}…${text.slice(-tail)}`;
}

/** The values at the peak, those first that most would be gained from, and the variables that take most. */
function fillAdvice(page) {
  const {code, file} = page;
  const peak = code.peaks.find((it) => it.file === file);
  const rows = peak.values.slice(0, ADVISED).map(([register, relief]) => {
    const value = code.values[code.indexOf.get(register)];
    const uses = value.accesses.filter((it) => it.role === "r").map((it) => it.row);
    return {
      cells: [`%${register}:${value.name}`, value.variables, String(value.units), RELIEF[relief] ?? "needed here", withoutMiddle(place(code, definitionBefore(value, peak.row))), withoutMiddle(place(code, uses[uses.length - 1]))],
      attributes: {"data-register": register},
      action: () => page.select(peak.row ?? 0, value),
    };
  });
  const more = peak.values.length - rows.length;
  byId("advice").replaceChildren(...(rows.length ? [table(["%Register", "%Variable", "#Units", "At the peak", "%Defined", "%Last used"], rows)] : [element("p", {class: "note"}, "Nothing is live.")]),
    more > 0 ? element("p", {class: "note"}, `and ${more} more`) : "");
  fillVariables(peak, code);
}

function fillVariables(peak, code) {
  const shares = new Map();
  for (const [register] of peak.values) {
    const value = code.values[code.indexOf.get(register)];
    const row = definitionBefore(value, peak.row);
    const hasLine = row !== undefined && code.frames(row)[0]?.line > 0;
    const name = value.variables || (hasLine ? `from ${place(code, row)}` : "(no variable, no line)");
    const label = value.variables || !hasLine ? name : `from ${withoutMiddle(place(code, row))}`;
    const share = shares.get(name) ?? {label, units: 0};
    share.units += value.units;
    shares.set(name, share);
  }
  const sorted = [...shares].sort(([, one], [, other]) => other.units - one.units);
  const most = Math.max(1, ...sorted.map(([, {units}]) => units));
  byId("variables").replaceChildren(...sorted.slice(0, 24).map(([name, {label, units}]) => {
    const bar = element("i");
    bar.style.width = units / most * 100 + "%";
    return element("div", {class: "share"}, element("span", {title: name}, label), element("span", {}, bar), element("span", {}, String(units)));
  }));
}

/** What LLVM alone makes, beside what comes behind the phases, and what each phase did. */
function fillPhases(report, code) {
  const parts = [];
  if (report.llvm) parts.push(comparison(report, code));
  for (const stage of report.effects) parts.push(...stageTable(stage));
  byId("phases-section").hidden = !parts.length;
  byId("phases").replaceChildren(...parts);
}

function comparison(report, code) {
  const {llvm} = report;
  const figures = [["Instructions", "instructions_out"], ["Blocks", "blocks"], ["Peak pressure, r32", "peak_pressure_r32"], ["Peak predicates", "peak_pressure_pred"],
    ["Registers, estimated", "registers_estimate"], ["Registers by ptxas", "ptxas_registers"], ["Spill stores by ptxas, bytes", "ptxas_spill_store_bytes"], ["Occupancy, warps", "occupancy_warps_per_sm"], ["Spill risk, %", "spill_risk_percent"]];
  const rows = figures.filter(([, field]) => report[field] !== undefined && llvm[field] !== undefined).map(([name, field]) => ({
    cells: [name, String(llvm[field]), String(report[field]), signed(report[field] - llvm[field])],
    attributes: {"data-compared": field},
  }));
  const box = element("div", {}, curves(llvm.curve, code));
  return element("div", {id: "comparison"}, table(["", "#LLVM alone", "#with phases", "#change"], rows), box);
}

/** The curves of both, each over its own code. */
function curves(before, code) {
  const [width, height, left, bottom] = [900, 130, 34, 112];
  const svg = shape("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Pressure along the code without and with phases"});
  const units = code.curves.r32.units;
  const longest = Math.max(1, before.instructions, code.count);
  const {most, distance} = scale(Math.max(code.curves.r32.peak, ...before.units) * 1.06);
  const x = (row) => left + row / longest * (width - left);
  const y = (value) => bottom - value / most * (bottom - 8);
  for (let value = 0; value <= most; value += distance) {
    svg.append(shape("line", {class: "axis", x1: left, x2: width, y1: y(value), y2: y(value)}), shape("text", {x: left - 5, y: y(value) + 3.5, "text-anchor": "end"}, value));
  }
  if (code.count) svg.append(...area(steps(units, 0, code.count, width, x, y), x(0), x(code.count), y(0), "area"));
  const old = before.units.flatMap((value, index) => [index, index + 1].map((end) => `${x(Math.min(end * before.step, before.instructions)).toFixed(1)},${y(value).toFixed(1)}`));
  if (old.length) svg.append(shape("path", {class: "before", d: "M" + old.join("L")}));
  svg.append(shape("text", {x: left, y: height - 4}, "dashed: LLVM alone; blue: with Oriel's phases; registers of 32 bits over instructions"));
  return svg;
}

function stageTable(stage) {
  let before = stage.before;
  const change = (from, to) => from === to ? String(to) : `${to} (${signed(to - from)})`;
  const rows = stage.phases.map((effect) => {
    const cells = [effect.phase, change(before.instructions, effect.instructions), change(before.blocks, effect.blocks), change(before.peak_pressure_r32, effect.peak_pressure_r32),
      change(before.peak_pressure_pred, effect.peak_pressure_pred), micros(effect.ns), Object.entries(effect.counters).map(([name, count]) => `${name} ${count}`).join(", ")];
    before = effect;
    return {cells, attributes: {"data-phase": effect.phase}};
  });
  const start = stage.before;
  const total = stage.phases.reduce((sum, effect) => sum + effect.ns, 0);
  rows.push({cells: ["all", change(start.instructions, before.instructions), change(start.blocks, before.blocks), change(start.peak_pressure_r32, before.peak_pressure_r32),
    change(start.peak_pressure_pred, before.peak_pressure_pred), micros(total), ""], attributes: {"data-phase": "all"}});
  const note = stage.taken_back ? element("p", {class: "note bad"}, `Taken back, the function stays as it was: ${stage.taken_back}`) : null;
  const title = element("p", {class: "note"}, `Stage ${stage.stage}: ${start.instructions} instructions, ${start.blocks} blocks, ${start.peak_pressure_r32} registers and ${start.peak_pressure_pred} predicates live at most before the first phase`);
  const made = table([stage.stage, "#instructions", "#blocks", "#peak r32", "#predicates", "#µs", "counted"], rows);
  made.setAttribute("data-stage", stage.stage);
  return [title, made, note].filter(Boolean);
}
