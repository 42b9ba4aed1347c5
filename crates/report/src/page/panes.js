// The panes of one function that follow what is selected: curve, live ranges, listing, source.

const CURVE = {top: 16, depth: 16, blocks: 17, axis: 16, right: 118};

/** The pressure curve with blocks and loops below it. */
class CurvePane {
  constructor(page) {
    [this.page, this.box] = [page, byId("curve")];
    this.svg = shape("svg", {"aria-hidden": "true"});
    this.box.replaceChildren(this.svg);
    this.box.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) page.select(this.rowAt(event));
      else this.hover(this.rowAt(event));
    });
    this.box.addEventListener("pointerdown", (event) => page.select(this.rowAt(event)));
    this.box.addEventListener("pointerleave", () => this.hover(null));
    this.box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      page.zoom(event.deltaY < 0 ? 0.7 : 1.4, this.rowAt(event));
    }, {passive: false});
  }

  get left() {
    return byId("ranges-gutter").getBoundingClientRect().width;
  }

  rowAt(event) {
    const at = (event.clientX - this.box.getBoundingClientRect().left - this.left) / this.width;
    const {from, to} = this.page;
    return Math.max(0, Math.min(this.page.code.count - 1, Math.floor(from + at * (to - from))));
  }

  draw() {
    const {page, box, svg} = this;
    const {code, from, to, file, report} = page;
    const [full, height] = [box.clientWidth, box.clientHeight];
    const left = this.left;
    this.width = Math.max(50, full - left - CURVE.right);
    // The tracks of the live ranges end where the curve ends.
    const ranges = byId("ranges");
    ranges.style.setProperty("--aside", CURVE.right - (ranges.offsetWidth - ranges.clientWidth) + "px");
    const bottom = height - CURVE.depth - CURVE.blocks - CURVE.axis;
    const curve = code.curves[file];
    const marks = file === "r32" ? this.marks(report, curve.peak) : [];
    const {most, distance} = scale(Math.max(curve.peak, ...marks.filter((mark) => mark.isFitted).map((mark) => mark.at)) * 1.06);
    this.x = (row) => left + (row - from) / (to - from) * this.width;
    this.y = (units) => bottom - units / most * (bottom - CURVE.top);
    const right = left + this.width;
    const parts = [shape("rect", {class: "chosen", id: "cursor-area", y: CURVE.top, height: bottom - CURVE.top})];
    for (let units = 0; units <= most; units += distance) {
      parts.push(shape("line", {class: "axis", x1: left, x2: right, y1: this.y(units), y2: this.y(units)}));
      parts.push(shape("text", {x: left - 6, y: this.y(units) + 3.5, "text-anchor": "end"}, units));
    }
    parts.push(shape("text", {x: left - 6, y: 10, "text-anchor": "end"}, file === "r32" ? "registers of 32 bits" : "predicates"));
    if (code.count) parts.push(...area(steps(curve.units, from, to, this.width, this.x, this.y), left, right, this.y(0), "area"));
    parts.push(...this.lines(marks, most, left, right), ...this.blockBands(bottom, left, right, height), ...this.peakMark(curve, from, to));
    parts.push(shape("line", {class: "hover", id: "hover", y1: CURVE.top, y2: height - CURVE.axis, visibility: "hidden"}));
    parts.push(shape("line", {class: "cursor", id: "cursor", y1: CURVE.top, y2: height - CURVE.axis}));
    svg.replaceChildren(...parts);
    this.follow();
  }

  /** Numbers of registers that mean something, the important ones first. */
  marks(report, peak) {
    const marks = [];
    const {registers_estimate: estimate, registers_limit: limit, ptxas_registers: ptxas} = report;
    if (estimate !== undefined) marks.push({at: estimate, kind: "estimate", text: `estimate ${estimate}`, isFitted: true});
    if (ptxas !== undefined) marks.push({at: ptxas, kind: "limit", text: `ptxas ${ptxas}`, isFitted: true});
    if (limit) marks.push({at: limit, kind: "limit", text: `limit ${limit}`, isFitted: limit < 2 * Math.max(peak, estimate ?? 0)});
    for (const [registers, warps] of this.page.code.occupancy_steps) {
      if (registers < 255) marks.push({at: registers, kind: "step", text: `${registers}: ${warps} warps`, isFitted: false});
    }
    return marks;
  }

  lines(marks, most, left, right) {
    const {registers_estimate_low: low, registers_estimate_high: high} = this.page.report;
    const parts = [];
    if (marks.length && low !== undefined) {
      const top = this.y(Math.min(high, most));
      parts.push(shape("rect", {class: "interval", x: left, width: right - left, y: top, height: Math.max(0, this.y(low) - top)}));
    }
    const taken = [];
    for (const {at, kind, text} of marks) {
      if (at > most) continue;
      const y = this.y(at);
      const isFree = taken.every((other) => Math.abs(other - y) >= 11);
      if (kind === "step" && !isFree) continue;
      parts.push(shape("line", {class: kind, x1: left, x2: right, y1: y, y2: y}));
      // What has no room at its line moves up.
      let place = y;
      while (taken.some((other) => Math.abs(other - place) < 11)) place -= 1;
      taken.push(place);
      parts.push(shape("text", {class: kind + "-text", x: right + 5, y: place + 3.5}, text));
    }
    return parts;
  }

  blockBands(bottom, left, right, height) {
    const {code, from, to} = this.page;
    const {first, depth, number} = code.blocks;
    const parts = [];
    const [depthTop, blockTop] = [bottom + 4, bottom + CURVE.depth + 1];
    const deepest = Math.max(1, ...depth);
    const layer = (CURVE.depth - 5) / deepest;
    // Blocks that are too short to be seen are part of the band.
    parts.push(shape("rect", {class: "block", x: left, width: right - left, y: blockTop, height: CURVE.blocks - 3}));
    let drawn = -1;
    for (let block = 0; block < first.length; block++) {
      const end = block + 1 < first.length ? first[block + 1] : code.count;
      if (end <= from || first[block] >= to || first[block] === end) continue;
      const [x, endX] = [this.x(Math.max(from, first[block])), this.x(Math.min(to, end))];
      // Many blocks in a pixel are drawn as one.
      if (endX - drawn < 0.5) continue;
      drawn = endX;
      for (let level = 0; level < depth[block]; level++) {
        parts.push(shape("rect", {class: "depth", x, width: Math.max(0.5, endX - x), y: depthTop + level * layer, height: Math.max(1, layer - 1)}));
      }
      if (endX - x < 1.5) continue;
      parts.push(shape("rect", {class: "block", x, width: endX - x, y: blockTop, height: CURVE.blocks - 3}));
      const label = `bb.${number[block]}`;
      if (endX - x > 7 * label.length) parts.push(shape("text", {x: x + 3, y: blockTop + 11}, label));
    }
    if (depth.some(Boolean)) parts.push(shape("text", {x: left - 6, y: depthTop + 8, "text-anchor": "end"}, "loops"));
    parts.push(shape("text", {x: left - 6, y: blockTop + 11, "text-anchor": "end"}, "blocks"));
    const {distance} = scale((to - from) * 0.8);
    for (let row = Math.ceil(from / distance) * distance; row < to; row += distance) {
      if (this.x(row) > right - 20) break;
      parts.push(shape("text", {x: this.x(row), y: height - 3, "text-anchor": row === from ? "start" : "middle"}, "@" + code.numbers[row]));
    }
    parts.push(shape("text", {x: left - 6, y: height - 3, "text-anchor": "end"}, "instruction"));
    return parts;
  }

  peakMark({peak, peakRow}, from, to) {
    if (peakRow < from || peakRow >= to || !peak) return [];
    const [x, y] = [this.x(peakRow + 0.5), this.y(peak)];
    const isFarRight = x > this.left + this.width - 60;
    return [
      shape("circle", {class: "peak", cx: x, cy: y, r: 3.5}),
      shape("text", {class: "peak-text", x: x + (isFarRight ? -6 : 6), y: y - 5, "text-anchor": isFarRight ? "end" : "start"}, `peak ${peak}`),
    ];
  }

  /** Moves the cursor to what is selected. */
  follow() {
    const {row, from, to, code} = this.page;
    const [cursor, chosen] = [byId("cursor"), byId("cursor-area")];
    if (!cursor) return;
    const isSeen = code.count > 0 && row >= from && row < to;
    for (const mark of [cursor, chosen]) mark.setAttribute("visibility", isSeen ? "visible" : "hidden");
    if (!isSeen) return;
    const x = this.x(row + 0.5);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    chosen.setAttribute("x", this.x(row));
    chosen.setAttribute("width", Math.max(0, this.x(row + 1) - this.x(row)));
  }

  hover(row) {
    const {page} = this;
    byId("readout").textContent = page.describe(row ?? page.row);
    const line = byId("hover");
    if (!line) return;
    line.setAttribute("visibility", row === null ? "hidden" : "visible");
    if (row === null) return;
    line.setAttribute("x1", this.x(row + 0.5));
    line.setAttribute("x2", this.x(row + 0.5));
  }
}

/** Live ranges: a row a register, grouped by source variable. */
class RangesPane {
  constructor(page) {
    this.page = page;
    this.rows = new Rows(byId("ranges"), (index) => this.row(this.items[index]));
  }

  /** Chooses and orders the registers that are shown. */
  fill() {
    const {code, row, file, shown, filter, value} = this.page;
    let values = shown === "here" ? code.liveAt(row, file) : code.values.filter((it) => it.file === file);
    const word = filter.trim().toLowerCase();
    if (word) values = values.filter((it) => word.startsWith("%") ? ("%" + it.register) === word : it.variables.toLowerCase().includes(word));
    const groups = new Map();
    for (const it of values) {
      if (!groups.has(it.variables)) groups.set(it.variables, []);
      groups.get(it.variables).push(it);
    }
    const units = (group) => group.reduce((sum, it) => sum + it.units, 0);
    const named = [...groups].filter(([name]) => name).sort((one, other) => units(other[1]) - units(one[1]) || one[0].localeCompare(other[0]));
    const rest = groups.has("") ? [["", groups.get("")]] : [];
    this.items = [...named, ...rest].flatMap(([, group]) => group);
    this.rows.show(this.items.length, this.items.indexOf(value));
    if (!this.items.length) this.rows.space.replaceChildren(element("p", {class: "note"}, word ? "nothing has this name" : "nothing is live"));
  }

  row(value) {
    const {page} = this;
    const label = element("span", {class: "label", title: `%${value.register}:${value.name} ${value.variables}`},
      element("span", {class: "class-" + value.name}, `%${value.register}`), element("small", {}, `:${value.name} `), value.variables);
    const track = element("span", {class: "track class-" + value.name});
    const {from, to} = page;
    const place = (moment) => Math.max(-1, Math.min(101, (moment / 4 - from) / (to - from) * 100));
    for (let end = 0; end < value.ends.length; end += 2) {
      const [left, right] = [place(value.ends[end]), place(value.ends[end + 1])];
      if (right < 0 || left > 100) continue;
      const bar = element("i");
      bar.style.left = left + "%";
      bar.style.width = right - left + "%";
      track.append(bar);
    }
    for (const {row, role} of value.accesses) {
      if (row < from || row >= to || role === "m" || to - from > 600) continue;
      const mark = element("b", {class: role});
      mark.style.left = place(4 * row + 2) + "%";
      track.append(mark);
    }
    const cursor = element("u");
    cursor.style.left = place(4 * page.row + 2) + "%";
    track.append(cursor);
    const uses = value.accesses.filter((it) => it.role === "r").length;
    return element("div", {role: "option", "aria-selected": String(value === page.value), "data-register": value.register,
      onclick: () => page.choose(value)}, label, track, element("span", {class: "uses"}, uses === 1 ? "1 use" : `${uses} uses`));
  }
}

/** The instructions, under the heads of their blocks. */
class ListingPane {
  constructor(page) {
    this.page = page;
    this.rows = new Rows(byId("listing"), (index) => this.item(index));
  }

  fill() {
    const {code} = this.page;
    // Block heads are items as well: what is negative is a block.
    this.items = new Int32Array(code.count + code.blocks.first.length);
    this.itemOf = new Int32Array(code.count);
    let [item, block] = [0, 0];
    for (let row = 0; row <= code.count; row++) {
      while (block < code.blocks.first.length && code.blocks.first[block] === row) this.items[item++] = -1 - block++;
      if (row === code.count) break;
      this.itemOf[row] = item;
      this.items[item++] = row;
    }
    this.rows.show(item);
  }

  item(index) {
    const item = this.items[index];
    return item < 0 ? this.head(-1 - item) : this.instruction(item);
  }

  head(block) {
    const {number, name, depth, frequency, successors} = this.page.code.blocks;
    const title = this.page.code.strings[name[block]];
    const notes = [title, depth[block] ? `in ${depth[block]} loop${depth[block] > 1 ? "s" : ""}` : "",
      frequency.length ? `runs ×${frequency[block]}` : "", successors[block].length ? "→ " + successors[block].map((it) => "bb." + it).join(", ") : ""];
    return element("div", {class: "head", "data-block": number[block]}, element("b", {}, `bb.${number[block]}`), "  " + notes.filter(Boolean).join("   "));
  }

  instruction(row) {
    const {page} = this;
    const {code, file, value} = page;
    const {units, peak, moments} = code.curves[file];
    const heat = element("span", {class: "heat"}, String(units[row]));
    heat.style.backgroundSize = (peak ? units[row] / peak * 100 : 0) + "% 100%";
    const text = code.parts(row).map((part) => {
      if (part.register === undefined) return part;
      const known = code.values[code.indexOf.get(part.register)];
      return element("span", {class: known && known === value ? "register chosen" : "register", "data-register": part.register,
        title: known?.variables || undefined}, "%" + part.register);
    });
    const isLive = value && code.isLive(value, moments[row]);
    return element("div", {role: "option", class: isLive ? "live" : "idle", "data-at": code.numbers[row], "aria-selected": String(row === page.row),
      onclick: (event) => {
        const register = event.target.dataset?.register;
        page.select(row, register === undefined ? undefined : code.values[code.indexOf.get(Number(register))]);
      }}, element("span", {class: "number"}, "@" + code.numbers[row]), heat, ...text);
  }
}

/** The source file of the selected instruction. */
class SourcePane {
  constructor(page) {
    this.page = page;
    this.rows = new Rows(byId("source"), (index) => this.line(index + 1));
  }

  /** Shows the file of a frame of the selected instruction. */
  follow(file) {
    const {page} = this;
    const {code, row} = page;
    const frames = code.count ? code.frames(row) : [];
    const hasSource = code.places.length > 0;
    this.frames = frames;
    if (file === undefined) file = frames[0]?.file ?? (this.file || code.mainFile);
    this.file = file;
    const chain = frames.flatMap((frame, depth) => [depth ? " inlined at " : "", element("button",
      {title: frame.file, onclick: () => this.follow(frame.file)}, lineOf(frame)), frame.name ? ` in ${frame.name}` : ""]);
    byId("chain").replaceChildren(...(chain.length ? chain : [hasSource ? "this instruction has no source position" : ""]));
    const source = page.sources.get(file);
    this.text = source?.text?.split("\n");
    byId("source").dataset.file = file ?? "";
    if (!this.text) {
      this.rows.show(0);
      const problem = source?.problem ?? (hasSource ? "its source is not in this page" : "the code has no debug information: compile with -g or -gline-tables-only");
      this.rows.space.replaceChildren(element("p", {class: "note"}, file ? `${file}: ${problem}` : problem));
      return;
    }
    this.lines = code.lines.get(file) ?? new Map();
    // Of several frames in this file the innermost is the selected one.
    this.depth = frames.findIndex((frame) => frame.file === file);
    const line = frames[this.depth]?.line ?? 0;
    this.rows.show(this.text.length, line - 1);
    if (line) this.rows.reveal(line - 1);
  }

  line(number) {
    const {page} = this;
    const rows = this.lines.get(number);
    const {units, peak} = page.code.curves[page.file];
    const most = rows ? rows.reduce((most, row) => Math.max(most, units[row]), 0) : 0;
    const heat = element("span", {class: "heat"}, rows ? String(most) : "");
    heat.style.backgroundSize = (peak ? most / peak * 100 : 0) + "% 100%";
    const depth = this.frames.findIndex((frame) => frame.file === this.file && frame.line === number);
    const made = element("div", {role: "option", class: [rows ? "used" : "", depth > this.depth ? "outer" : ""].join(" "), "data-line": number,
      "aria-selected": String(depth >= 0 && depth === this.depth), title: rows ? `${rows.length} instruction${rows.length > 1 ? "s" : ""}` : undefined},
      element("span", {class: "number"}, String(number)), heat, this.text[number - 1] || " ");
    if (rows) made.addEventListener("click", () => page.select(rows.reduce((best, row) => units[row] > units[best] ? row : best), undefined, this.file));
    return made;
  }
}
