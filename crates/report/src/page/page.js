// The page: what is selected, what the address says of it, and what does not follow the selection.

const FILES = [["r32", "registers"], ["pred", "predicates"]];
// In a frame of a notebook the page has no address to hold the selection.
const HAS_ADDRESS = !["data:", "about:"].includes(location.protocol);
const SHOWN = [["here", "live at the selection"], ["all", "all"]];

window.addEventListener("error", (event) => (document.documentElement.dataset.problem += event.message + "\n"));
document.addEventListener("DOMContentLoaded", () => new Page().open());

const dash = (value, unit = "") => value === undefined ? "–" : value + unit;
const signed = (number) => number > 0 ? `+${number}` : number < 0 ? `−${-number}` : "0";
const micros = (ns) => (ns / 1000).toFixed(1);

class Page {
  constructor() {
    const parsed = (kind) => [...document.querySelectorAll(`script.${kind}`)].map((script) => JSON.parse(script.textContent));
    this.functions = parsed("function");
    this.codes = [...document.querySelectorAll("script.code")];
    this.sources = new Map(parsed("source").map((source) => [source.file, source]));
    [this.file, this.shown, this.filter, this.value] = ["r32", "here", "", null];
  }

  open() {
    if (!this.functions.length) {
      byId("title").textContent = "No functions";
      document.querySelectorAll(".columns, #phases-section, #warnings-section, #picker-label, #figures").forEach((part) => (part.hidden = true));
      return this.finish();
    }
    this.curve = new CurvePane(this);
    this.ranges = new RangesPane(this);
    this.listing = new ListingPane(this);
    this.source = new SourcePane(this);
    this.fillPicker();
    this.listen();
    this.readAddress();
    this.finish();
  }

  /** Notes, for tests and for those who measure, when the page stood. */
  finish() {
    const data = document.documentElement.dataset;
    data.functions = this.functions.length;
    data.openMs = performance.now().toFixed(0);
    data.ready = "1";
  }

  get report() {
    return this.functions[this.index];
  }

  listen() {
    window.addEventListener("hashchange", () => this.readAddress());
    window.addEventListener("resize", () => this.redraw());
    const lists = () => [this.ranges, this.listing, this.source].map((pane) => pane.rows);
    window.addEventListener("beforeprint", () => lists().forEach((rows) => rows.print(true)));
    window.addEventListener("afterprint", () => lists().forEach((rows) => rows.print(false)));
    byId("filter").addEventListener("input", (event) => {
      this.filter = event.target.value;
      this.ranges.fill();
    });
    byId("to-peak").addEventListener("click", () => this.select(this.code.curves[this.file].peakRow));
    for (const button of document.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => this.zoom({in: 0.5, out: 2, all: Infinity}[button.dataset.zoom]));
    }
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** The keys of the whole page, and those of the pane that has the focus. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const everywhere = {"+": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.zoom(Infinity), p: () => this.select(this.code.curves[this.file].peakRow)};
    const by = (step) => () => this.select(this.row + step);
    const rows = {ArrowUp: by(-1), ArrowDown: by(1), PageUp: by(-20), PageDown: by(20), Home: by(-Infinity), End: by(Infinity)};
    const panes = {
      curve: {ArrowLeft: by(-1), ArrowRight: by(1), PageUp: by(-20), PageDown: by(20), Home: rows.Home, End: rows.End},
      listing: rows,
      ranges: {ArrowUp: () => this.chooseBeside(-1), ArrowDown: () => this.chooseBeside(1)},
      source: {ArrowUp: () => this.selectLine(-1), ArrowDown: () => this.selectLine(1)},
    };
    const action = panes[event.target.id]?.[event.key] ?? everywhere[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  chooseBeside(step) {
    const {items} = this.ranges;
    if (!items.length) return;
    const index = Math.max(0, Math.min(items.length - 1, items.indexOf(this.value) + step));
    this.choose(items[index]);
    this.ranges.rows.reveal(index);
  }

  /** Selects the next line, in a direction, that has instructions. */
  selectLine(step) {
    const {lines, frames, file} = this.source;
    if (!lines) return;
    const now = frames.find((frame) => frame.file === file)?.line ?? 0;
    const others = [...lines.keys()].filter((line) => step * (line - now) > 0).sort((one, other) => step * (one - other));
    if (others.length) this.select(lines.get(others[0])[0], undefined, file);
  }

  // The address: #function=NAME&sm=80&at=12&file=r32&register=5&from=0&to=100; all of it can be left out.

  readAddress() {
    const words = new URLSearchParams(location.hash.slice(1));
    const [name, sm, at, file] = ["function", "sm", "at", "file"].map((key) => words.get(key));
    const matches = (report) => report.function === name && (sm === null || String(report.sm) === sm);
    const index = Math.max(0, this.functions.findIndex(matches));
    if (FILES.some(([known]) => known === file)) this.file = file;
    if (index !== this.index) this.load(index);
    const number = (key, other) => words.has(key) && Number.isFinite(Number(words.get(key))) ? Number(words.get(key)) : other;
    const {code} = this;
    this.from = Math.max(0, Math.min(code.count - 1, number("from", 0)));
    this.to = Math.max(this.from + 1, Math.min(code.count, number("to", code.count)));
    const value = code.values[code.indexOf.get(number("register", -1))] ?? null;
    this.select(at !== null && Number.isFinite(Number(at)) ? code.rowOf(Number(at)) : code.curves[this.file].peakRow, value);
    this.redraw();
  }

  writeAddress() {
    const {report, code} = this;
    const words = new URLSearchParams({function: report.function, sm: report.sm});
    if (code.count) words.set("at", code.numbers[this.row]);
    words.set("file", this.file);
    if (this.value) words.set("register", this.value.register);
    if (this.from > 0 || this.to < code.count) [words.set("from", this.from), words.set("to", this.to)];
    // Moving about in a function is no step to go back by.
    if (HAS_ADDRESS) history.replaceState(null, "", "#" + words);
  }

  load(index) {
    [this.index, this.value, this.row, this.source.file] = [index, null, 0, undefined];
    this.code = new Code(JSON.parse(this.codes[index].textContent));
    const {report, code} = this;
    [this.from, this.to] = [0, Math.max(1, code.count)];
    document.title = `${report.function} – Oriel report`;
    byId("title").textContent = report.function;
    byId("subtitle").textContent = `${report.is_kernel ? "kernel" : "function"}, sm_${report.sm}, ${report.module}${report.stage === "late" ? "" : ", stage " + report.stage}`;
    byId("picker").value = index;
    document.querySelectorAll("#functions tbody tr").forEach((row) => row.setAttribute("aria-selected", String(Number(row.dataset.index) === index)));
    document.documentElement.dataset.peak = code.curves.r32.peak;
    document.documentElement.dataset.peakPred = code.curves.pred.peak;
    fillFigures(report, code);
    fillWarnings(this, report, code);
    fillPhases(report, code);
    this.listing.fill();
  }

  redraw() {
    choice(byId("file"), FILES, this.file, (file) => this.showFile(file));
    choice(byId("shown"), SHOWN, this.shown, (shown) => {
      this.shown = shown;
      this.redraw();
    });
    fillLegend(this.code, this.file);
    fillAdvice(this);
    this.curve.draw();
    this.ranges.fill();
    this.listing.rows.draw(true);
  }

  showFile(file) {
    this.file = file;
    this.redraw();
    this.select(this.row, this.value);
  }

  /** Selects a row, and a register if one is given; everything goes there. `file` is a source file that stays in view. */
  select(row, value = this.value, file = undefined) {
    const {code} = this;
    this.row = Math.max(0, Math.min(code.count - 1, row));
    this.value = value;
    if (code.count && (this.row < this.from || this.row >= this.to)) {
      const width = this.to - this.from;
      this.from = Math.max(0, Math.min(code.count - width, Math.round(this.row - width / 2)));
      this.to = this.from + width;
      this.curve.draw();
    }
    this.curve.follow();
    this.curve.hover(null);
    this.ranges.fill();
    if (code.count) {
      this.listing.rows.selected = this.listing.itemOf[this.row];
      this.listing.rows.reveal(this.listing.itemOf[this.row]);
    }
    this.source.follow(file);
    byId("selected-text").textContent = value ? `%${value.register}:${value.name} ${value.variables}` : "";
    const data = document.documentElement.dataset;
    data.at = code.count ? code.numbers[this.row] : "";
    data.units = code.count ? code.curves[this.file].units[this.row] : "";
    data.live = code.liveAt(this.row, this.file).length;
    this.writeAddress();
  }

  /** Chooses a register, without going elsewhere. */
  choose(value) {
    this.select(this.row, value === this.value ? null : value);
  }

  /** Makes the stretch of code that is shown longer or shorter, around a row. */
  zoom(factor, around = this.row) {
    const {code} = this;
    const width = Math.max(Math.min(8, code.count), Math.min(code.count, Math.round((this.to - this.from) * factor)));
    const share = (around - this.from) / (this.to - this.from);
    this.from = Math.max(0, Math.min(code.count - width, Math.round(around - share * width)));
    this.to = Math.max(this.from + 1, this.from + width);
    this.redraw();
    this.writeAddress();
  }

  /** A row in words. */
  describe(row) {
    const {code, file} = this;
    if (!code.count) return "no instructions";
    const frame = code.frames(row)[0];
    const place = frame ? `, ${lineOf(frame)}` : "";
    return `@${code.numbers[row]} bb.${code.blocks.number[code.blockOf(row)]}${place}: ${code.curves[file].units[row]} live`;
  }

  go(index) {
    this.value = null;
    if (!HAS_ADDRESS) return this.show(index);
    history.pushState(null, "", "#" + new URLSearchParams({function: this.functions[index].function, sm: this.functions[index].sm}));
    if (this.functions.findIndex((it) => it.function === this.functions[index].function && it.sm === this.functions[index].sm) === index) this.readAddress();
    else this.show(index);
  }

  /** Shows a function whose name and SM another one has, too. */
  show(index) {
    this.load(index);
    this.select(this.code.curves[this.file].peakRow, null);
    this.redraw();
  }

  fillPicker() {
    const picker = byId("picker");
    picker.append(...this.functions.map((report, index) => element("option", {value: index}, `${report.function} (sm_${report.sm})`)));
    picker.addEventListener("change", () => this.go(Number(picker.value)));
    byId("picker-label").hidden = this.functions.length < 2;
    byId("functions").hidden = this.functions.length < 2;
    if (this.functions.length > 1) fillFunctions(this);
  }
}
