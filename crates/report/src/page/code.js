// A function's code, decoded: rows of instructions, the registers that are live, and the pressure that follows from them.

/** Sums up differences. */
function sums(differences) {
  let last = 0;
  return Int32Array.from(differences, (difference) => (last += difference));
}

class Code {
  constructor(data) {
    Object.assign(this, data);
    this.count = data.form.length;
    this.numbers = sums(data.numbers);
    this.blocks.first = sums(data.blocks.first_row);
    // Where the registers of each row begin.
    this.operands = new Int32Array(this.count + 1);
    data.form.forEach((form, row) => (this.operands[row + 1] = this.operands[row] + data.forms[form][0].length));
    this.readValues(data.values);
    this.readUses();
    this.curves = {r32: this.curve("r32"), pred: this.curve("pred")};
  }

  readValues(data) {
    const ids = sums(data.register);
    this.indexOf = new Map();
    this.values = [];
    let position = 0;
    ids.forEach((register, index) => {
      const count = 2 * data.segment_count[index];
      const [name, file, units] = data.classes[data.class[index]];
      const ends = sums(data.segments.slice(position, position + count));
      position += count;
      this.indexOf.set(register, index);
      this.values.push({register, name, file, units, ends, variables: this.strings[data.variables[index]], accesses: []});
    });
  }

  /** Notes at each value which rows define, read and mention it. */
  readUses() {
    for (let row = 0; row < this.count; row++) {
      const roles = this.forms[this.form[row]][0];
      for (let operand = 0; operand < roles.length; operand++) {
        const value = this.values[this.indexOf.get(this.registers[this.operands[row] + operand])];
        if (value) value.accesses.push({row, role: roles[operand]});
      }
    }
  }

  /** The most units live at each row, and the moment of it. */
  curve(file) {
    const changes = new Int32Array(4 * this.count + 1);
    for (const value of this.values) {
      if (value.file !== file) continue;
      for (let end = 0; end < value.ends.length; end += 2) {
        changes[value.ends[end]] += value.units;
        changes[value.ends[end + 1]] -= value.units;
      }
    }
    const units = new Int32Array(this.count);
    const moments = new Int32Array(this.count);
    let live = 0;
    for (let row = 0; row < this.count; row++) {
      units[row] = -1;
      for (let moment = 4 * row; moment < 4 * row + 4; moment++) {
        live += changes[moment];
        // What is live before an instruction is what its predecessor leaves, unless the block begins here.
        if ((moment % 4 || this.startsBlock(row)) && live > units[row]) [units[row], moments[row]] = [live, moment];
      }
    }
    const peak = units.reduce((most, now) => Math.max(most, now), 0);
    return {units, moments, peak, peakRow: Math.max(0, units.indexOf(peak))};
  }

  /** The block of a row: the last that begins at or before it. */
  blockOf(row) {
    const first = this.blocks.first;
    let [low, high] = [0, first.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (first[middle] <= row) low = middle;
      else high = middle;
    }
    return low;
  }

  startsBlock(row) {
    return this.blocks.first[this.blockOf(row)] === row;
  }

  /** The row of an instruction's number, or of the last before it. */
  rowOf(number) {
    let row = this.numbers.findIndex((it) => it >= number);
    if (row < 0) row = this.count - 1;
    return Math.max(0, row);
  }

  /** The parts of a row's text: strings, and {register, role}. */
  parts(row) {
    const [roles, ...pieces] = this.forms[this.form[row]];
    return pieces.flatMap((piece, number) => number < roles.length
      ? [piece, {register: this.registers[this.operands[row] + number], role: roles[number]}] : [piece]);
  }

  text(row) {
    return this.parts(row).map((part) => part.register === undefined ? part : "%" + part.register).join("");
  }

  isLive(value, moment) {
    for (let end = 0; end < value.ends.length; end += 2) {
      if (value.ends[end] <= moment && moment < value.ends[end + 1]) return true;
    }
    return false;
  }

  /** The values of a file that are live where the pressure of a row is highest. */
  liveAt(row, file) {
    if (!this.count) return [];
    const moment = this.curves[file].moments[row];
    return this.values.filter((value) => value.file === file && this.isLive(value, moment));
  }

  /** The source position of a row, and the calls that it was inlined at, innermost first. */
  frames(row) {
    const frames = [];
    for (let place = this.place[row]; place; ) {
      const [file, line, column, name, inlinedAt] = this.places[place - 1];
      frames.push({file: this.strings[file], line, column, name: this.strings[name]});
      place = inlinedAt;
    }
    return frames;
  }

  /** The source file that most rows come from. */
  get mainFile() {
    if (this.main !== undefined) return this.main;
    const rowsOf = ([, lines]) => [...lines.values()].reduce((sum, rows) => sum + rows.length, 0);
    const files = [...this.lines].map((entry) => [entry[0], rowsOf(entry)]);
    return (this.main = files.reduce((most, file) => file[1] > most[1] ? file : most, ["", 0])[0]);
  }

  /** The source files, with the rows of each line, those of inlined calls at the lines of the calls as well. */
  get lines() {
    if (this.lineRows) return this.lineRows;
    this.lineRows = new Map();
    for (let row = 0; row < this.count; row++) {
      this.frames(row).forEach((frame) => {
        if (!this.lineRows.has(frame.file)) this.lineRows.set(frame.file, new Map());
        const lines = this.lineRows.get(frame.file);
        if (!lines.has(frame.line)) lines.set(frame.line, []);
        const rows = lines.get(frame.line);
        if (rows[rows.length - 1] !== row) rows.push(row);
      });
    }
    return this.lineRows;
  }
}
