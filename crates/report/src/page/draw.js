// What is drawn: elements, rows that exist only while they can be seen, and step curves.

const RELIEF = {
  compute_behind: "unused here: compute later",
  keep_in_memory: "unused here: keep in memory",
  compute_at_use: "compute at use",
};

/** A source line in few characters; line zero is code that the compiler made. */
const lineOf = (frame) => `${frame.file.split("/").pop()}:${frame.line || "generated"}`;

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; children that are strings are text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Makes an element that is clicked usable by keyboard. */
function activates(made, action) {
  made.tabIndex = 0;
  made.addEventListener("click", action);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action(event);
  });
  return made;
}

/** A table; rows are {cells, attributes, action}. Columns whose name begins with # have numbers. */
function table(columns, rows) {
  const isNumber = columns.map((column) => column.startsWith("#"));
  const kind = (column) => isNumber[column] ? "number" : columns[column].startsWith("%") ? "code" : undefined;
  const head = columns.map((column, index) => element("th", {class: kind(index), scope: "col"}, column.replace(/^[#%]/, "")));
  const body = rows.map(({cells, attributes, action}) => {
    const row = element("tr", attributes, ...cells.map((cell, index) => element("td", {class: kind(index)}, cell ?? "")));
    return action ? activates(row, action) : row;
  });
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}

/** Buttons of which one is chosen. */
function choice(box, options, chosen, choose) {
  const hasFocus = box.contains(document.activeElement);
  box.replaceChildren(...options.map(([value, text]) => element("button",
    {role: "radio", "aria-checked": String(value === chosen), "data-value": value, onclick: () => choose(value)}, text)));
  if (hasFocus) box.querySelector("[aria-checked=true]")?.focus();
}

const ROW_HEIGHT = 18;
/** Rows beyond those that can be seen. */
const OVERSCAN = 12;
/** Rows of each list on paper. */
const PRINTED_ROWS = 2000;

/** A list of any length, whose rows exist while they can be seen. */
class Rows {
  constructor(box, make) {
    [this.box, this.make, this.count, this.selected] = [box, make, 0, -1];
    this.space = element("div", {class: "space"});
    box.replaceChildren(this.space);
    box.addEventListener("scroll", () => this.draw());
  }

  show(count, selected = -1) {
    [this.count, this.selected] = [count, selected];
    this.space.style.height = count * ROW_HEIGHT + "px";
    this.draw(true);
  }

  /** Scrolls so that a row can be seen, if it cannot. */
  reveal(index) {
    const [top, height] = [index * ROW_HEIGHT, this.box.clientHeight];
    if (top < this.box.scrollTop + ROW_HEIGHT || top > this.box.scrollTop + height - 2 * ROW_HEIGHT) {
      this.box.scrollTop = Math.max(0, top - height / 2.5);
    }
    this.draw(true);
  }

  draw(isForced, isPrinted) {
    const height = this.box.clientHeight || 400;
    let first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - OVERSCAN);
    let last = Math.min(this.count, first + Math.ceil(height / ROW_HEIGHT) + 2 * OVERSCAN);
    if (isPrinted) {
      first = this.count <= PRINTED_ROWS ? 0 : Math.max(0, this.selected - PRINTED_ROWS / 2);
      last = Math.min(this.count, first + PRINTED_ROWS);
      this.space.style.height = (last - first) * ROW_HEIGHT + "px";
    }
    if (!isForced && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const rows = [];
    for (let index = first; index < last; index++) {
      const row = this.make(index);
      row.style.top = (isPrinted ? index - first : index) * ROW_HEIGHT + "px";
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
  }

  print(isPrinted) {
    if (!isPrinted) this.space.style.height = this.count * ROW_HEIGHT + "px";
    this.draw(true, isPrinted);
  }
}

/** The corners of a step curve through the maxima of `values` from `first` to `last`, as wide as `width`. */
function steps(values, first, last, width, x, y) {
  const corners = [];
  const stretch = Math.max(1, (last - first) / width);
  for (let start = first; start < last; start += stretch) {
    const end = Math.min(last, start + stretch);
    let most = 0;
    for (let row = Math.floor(start); row < Math.max(end, Math.floor(start) + 1) && row < values.length; row++) most = Math.max(most, values[row]);
    corners.push(`${x(start).toFixed(1)},${y(most).toFixed(1)}`, `${x(end).toFixed(1)},${y(most).toFixed(1)}`);
  }
  return corners;
}

/** A step curve with the area below it. */
function area(corners, left, right, bottom, kind) {
  const line = "M" + corners.join("L");
  return [
    shape("path", {class: kind, d: `M${left},${bottom}L${corners.join("L")}L${right},${bottom}Z`}),
    shape("path", {class: "outline", d: line}),
  ];
}

/** A number at or above `most`, and the distance of about four lines below it. */
function scale(most) {
  const rough = Math.max(1, most / 4);
  const power = 10 ** Math.floor(Math.log10(rough));
  const distance = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((it) => it >= rough));
  return {most: Math.max(1, most), distance};
}
