// Curves over time on plain canvases, with a cursor that moves with the clock.
"use strict";
saltus.MARGIN = { left: 58, right: 10, top: 6, bottom: 17 };

saltus.Panel = class {
  constructor(parent, data, times, sides, clock, player) {
    Object.assign(this, { times, sides, clock, player });
    this.lines = data.lines.map((line) => ({ ...line, values: saltus.unpack(line.values).values, shown: true }));
    this.least = data.least;
    const units = data.units ? ` [${data.units}]` : "";
    this.legend = saltus.element("div", { class: "legend" });
    this.canvas = saltus.element("canvas", { class: "curve", role: "img", "aria-label": `${data.title}${units} over time` });
    const head = saltus.element("div", { class: "panel-head" },
      saltus.element("h3", {}, `${data.title}${units}`), data.note ? saltus.element("small", {}, data.note) : null);
    this.root = saltus.element("section", { class: "panel" }, head, this.legend, this.canvas);
    parent.append(this.root);
    for (const line of this.lines) {
      line.readout = saltus.element("output", {});
      line.swatch = saltus.element("i", {});
      const button = saltus.element("button", { type: "button", "aria-pressed": "true", title: "show or hide this line",
        onclick: () => { line.shown = !line.shown; button.setAttribute("aria-pressed", line.shown); this.draw(); } },
        line.swatch, line.name, " ", line.readout);
      this.legend.append(button);
    }
    saltus.dragTime(this.canvas, clock, () => this.frame());
    this.drawn = document.createElement("canvas");
  }
  ink(line) { return line.ink < 0 ? this.player.colour("--text") : this.player.ink(line.ink); }
  frame() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, { left, right } = saltus.MARGIN;
    return { width, height, x0: left, x1: width - right, from: this.clock.from, to: this.clock.to };
  }
  range() {
    let low = Infinity, high = -Infinity;
    const { from, to } = this.clock;
    for (const line of this.lines) {
      if (!line.shown) continue;
      for (let row = 0; row < this.times.length; row++) {
        const value = line.values[row];
        if (this.times[row] < from || this.times[row] > to || !Number.isFinite(value)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (!(low <= high)) return [0, 1];
    const least = Math.max(this.least, 1e-12 * Math.max(Math.abs(low), Math.abs(high)), 1e-300);
    if (high - low < least) { const middle = (low + high) / 2, half = Math.max(least, Math.abs(middle) * 0.05 || 0.5); low = middle - half; high = middle + half; }
    const pad = 0.06 * (high - low);
    return [low - pad, high + pad];
  }
  // The lines are drawn once into a canvas of their own; a moving cursor only copies it.
  draw() {
    const { width, height, x0, x1, from, to } = this.frame(), ratio = window.devicePixelRatio || 1;
    if (width < 10) return;
    for (const canvas of [this.canvas, this.drawn]) { canvas.width = width * ratio; canvas.height = height * ratio; }
    const pen = this.drawn.getContext("2d"), { top, bottom } = saltus.MARGIN;
    const [low, high] = this.range(), y0 = height - bottom, y1 = top;
    const X = (t) => x0 + (t - from) / (to - from) * (x1 - x0), Y = (v) => y0 + (v - low) / (high - low) * (y1 - y0);
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    this.grid(pen, { low, high, x0, x1, y0, y1, X, Y, from, to });
    pen.save();
    pen.beginPath(); pen.rect(x0, 0, x1 - x0, height); pen.clip();
    this.undefinedSpans(pen, X, y0, y1);
    pen.strokeStyle = this.player.colour("--event");
    pen.lineWidth = 1;
    if (this.clock.events.length <= 80) for (const t of this.clock.events) { pen.beginPath(); pen.moveTo(X(t), y0); pen.lineTo(X(t), y1); pen.stroke(); }
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    for (const line of this.lines) if (line.shown) this.stroke(pen, line, X, Y);
    pen.restore();
    this.cursor();
  }
  grid(pen, { low, high, x0, x1, y0, y1, X, Y, from, to }) {
    pen.strokeStyle = this.player.colour("--grid");
    pen.fillStyle = this.player.colour("--faint");
    pen.lineWidth = 1;
    pen.textAlign = "right"; pen.textBaseline = "middle";
    const rows = saltus.ticks(low, high, Math.max(2, (y0 - y1) / 34)), step = rows.length > 1 ? rows[1] - rows[0] : high - low;
    for (const value of rows) {
      pen.beginPath(); pen.moveTo(x0, Y(value)); pen.lineTo(x1, Y(value)); pen.stroke();
      pen.fillText(saltus.tickText(Math.abs(value) < 1e-9 * step ? 0 : value, step), x0 - 6, Y(value));
    }
    pen.textAlign = "center"; pen.textBaseline = "top";
    const columns = saltus.ticks(from, to, (x1 - x0) / 80), apart = columns.length > 1 ? columns[1] - columns[0] : to - from;
    columns.forEach((t, index) => {
      pen.fillText(saltus.tickText(t, apart) + (index === columns.length - 1 ? " s" : ""), Math.min(X(t), x1 - 12), y0 + 4);
    });
  }
  undefinedSpans(pen, X, y0, y1) {
    const shown = this.lines.filter((line) => line.shown), n = this.times.length;
    pen.fillStyle = this.player.colour("--undefined");
    for (let row = 0; row < n; row++) {
      if (!shown.length || !shown.every((line) => Number.isNaN(line.values[row]))) continue;
      let last = row;
      while (last + 1 < n && shown.every((line) => Number.isNaN(line.values[last + 1]))) last++;
      const a = X(this.times[row]), b = X(this.times[last]);
      pen.fillRect(a, y1, b - a, y0 - y1);
      if (b - a > 64) {
        pen.save(); pen.fillStyle = this.player.colour("--faint"); pen.textAlign = "center"; pen.textBaseline = "middle";
        pen.fillText("undefined", (a + b) / 2, (y0 + y1) / 2); pen.restore();
      }
      row = last;
    }
  }
  stroke(pen, line, X, Y) {
    pen.strokeStyle = this.ink(line);
    pen.setLineDash(line.ink < 0 || line.dashed ? [5, 4] : []);
    pen.beginPath();
    let down = false;
    for (let row = 0; row < this.times.length; row++) {
      const value = line.values[row];
      if (!Number.isFinite(value)) { down = false; continue; }
      const jump = row > 0 && this.sides[row] === 1 && this.sides[row - 1] === -1;
      if (down && !jump) pen.lineTo(X(this.times[row]), Y(value)); else pen.moveTo(X(this.times[row]), Y(value));
      down = true;
    }
    pen.stroke();
    pen.setLineDash([]);
  }
  cursor() {
    const { width, height, x0, x1, from, to } = this.frame(), ratio = window.devicePixelRatio || 1;
    if (width < 10 || !this.drawn.width) return;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.drawn, 0, 0);
    pen.scale(ratio, ratio);
    const x = x0 + (this.clock.t - from) / (to - from) * (x1 - x0);
    if (x >= x0 - 1 && x <= x1 + 1) {
      pen.strokeStyle = this.player.colour("--accent");
      pen.lineWidth = 1.5;
      pen.beginPath(); pen.moveTo(x, saltus.MARGIN.top); pen.lineTo(x, height - saltus.MARGIN.bottom); pen.stroke();
    }
    const [i, j, f] = saltus.locate(this.times, this.clock.t, this.clock.side);
    for (const line of this.lines) {
      const value = line.values[i] + (f > 0 ? f * (line.values[j] - line.values[i]) : 0);
      line.readout.textContent = saltus.number(value, 4);
      line.swatch.style.background = this.ink(line);
    }
  }
};

// The mode of each body as coloured bars over time.
saltus.ModePanel = class {
  constructor(parent, data, times, clock, player) {
    Object.assign(this, { times, clock, player, names: data.names, of: data.of });
    const unpacked = saltus.unpack(data.values);
    this.values = unpacked.values;
    this.count = unpacked.shape[1];
    this.used = data.names.map((_, mode) => this.values.includes(mode));
    this.legend = saltus.element("div", { class: "legend" });
    this.swatches = data.names.map((name, mode) => {
      const swatch = saltus.element("i", {});
      if (this.used[mode]) this.legend.append(saltus.element("span", {}, swatch, name));
      return swatch;
    });
    this.canvas = saltus.element("canvas", { class: "curve", role: "img", "aria-label": "modes over time" });
    this.canvas.style.height = `${Math.min(Math.max(this.count * 15, 16), 150) + 23}px`;
    this.root = saltus.element("section", { class: "panel" },
      saltus.element("div", { class: "panel-head" }, saltus.element("h3", {}, this.count > 1 ? "modes" : "mode")), this.legend, this.canvas);
    parent.append(this.root);
    this.still = document.createElement("canvas");
    saltus.dragTime(this.canvas, clock, () => this.frame());
  }
  frame() {
    const { left, right } = saltus.MARGIN;
    return { x0: left, x1: this.canvas.clientWidth - right, from: this.clock.from, to: this.clock.to };
  }
  draw() {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (width < 10) return;
    for (const canvas of [this.canvas, this.still]) { canvas.width = width * ratio; canvas.height = height * ratio; }
    const pen = this.still.getContext("2d"), { x0, x1, from, to } = this.frame();
    pen.scale(ratio, ratio);
    const bottom = height - saltus.MARGIN.bottom, tall = (bottom - saltus.MARGIN.top) / this.count;
    const X = (t) => Math.min(Math.max(x0 + (t - from) / (to - from) * (x1 - x0), x0), x1);
    pen.font = "10.5px system-ui, sans-serif"; pen.textBaseline = "middle"; pen.textAlign = "right";
    this.swatches.forEach((swatch, mode) => { swatch.style.background = this.ink(mode); });
    for (let body = 0; body < this.count; body++) {
      const top = saltus.MARGIN.top + body * tall;
      for (let row = 0; row < this.times.length - 1; row++) {
        let last = row;
        const mode = this.values[row * this.count + body];
        while (last + 1 < this.times.length && this.values[(last + 1) * this.count + body] === mode) last++;
        pen.fillStyle = this.ink(mode);
        const end = this.times[Math.min(last + 1, this.times.length - 1)];
        if (X(end) > X(this.times[row])) pen.fillRect(X(this.times[row]), top + (tall > 4 ? 1 : 0), X(end) - X(this.times[row]) + 0.3, tall - (tall > 4 ? 2 : 0));
        row = last;
      }
      if (tall >= 10) { pen.fillStyle = this.player.colour("--faint"); pen.fillText(this.of[body], x0 - 6, top + tall / 2); }
    }
    pen.fillStyle = this.player.colour("--faint"); pen.textAlign = "center"; pen.textBaseline = "top";
    const columns = saltus.ticks(from, to, (x1 - x0) / 80), apart = columns.length > 1 ? columns[1] - columns[0] : to - from;
    columns.forEach((t, k) => pen.fillText(saltus.tickText(t, apart) + (k === columns.length - 1 ? " s" : ""), Math.min(X(t), x1 - 12), bottom + 4));
    this.cursor();
  }
  ink(mode) { return this.player.ink([5, 1, 2, 4, 3, 0, 6, 7][mode % 8]); }
  cursor() {
    if (!this.still.width || !this.canvas.clientWidth) return;
    const pen = this.canvas.getContext("2d"), { x0, x1, from, to } = this.frame(), ratio = window.devicePixelRatio || 1;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.still, 0, 0);
    pen.scale(ratio, ratio);
    const x = x0 + (this.clock.t - from) / (to - from) * (x1 - x0);
    if (x < x0 - 1 || x > x1 + 1) return;
    pen.strokeStyle = this.player.colour("--accent"); pen.lineWidth = 1.5;
    pen.beginPath(); pen.moveTo(x, saltus.MARGIN.top); pen.lineTo(x, this.canvas.clientHeight - saltus.MARGIN.bottom); pen.stroke();
  }
};

// Pressing and dragging over a canvas chooses the time; the wheel with Shift or Ctrl zooms into it.
saltus.dragTime = function (canvas, clock, frame) {
  const at = (event) => {
    const { x0, x1, from, to } = frame(), box = canvas.getBoundingClientRect();
    return from + (event.clientX - box.left - x0) / (x1 - x0) * (to - from);
  };
  let held = false;
  canvas.addEventListener("pointerdown", (event) => { held = true; canvas.setPointerCapture(event.pointerId); clock.pause(); clock.seek(at(event)); });
  canvas.addEventListener("pointermove", (event) => { if (held) clock.seek(at(event)); });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = false; });
  canvas.addEventListener("wheel", (event) => {
    if (!event.shiftKey && !event.ctrlKey) return;
    event.preventDefault();
    clock.zoom(at(event), Math.exp((event.deltaY || event.deltaX) * 0.002));
  }, { passive: false });
  canvas.addEventListener("dblclick", () => clock.zoom(0, Infinity));
};
