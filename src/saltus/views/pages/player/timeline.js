// The time line: ticks at every event, the part played, and the buttons around it.
"use strict";
saltus.Timeline = class {
  constructor(player, clock, events) {
    Object.assign(this, { player, clock, events });
    const button = (icon, title, action) => saltus.element("button", { type: "button", class: "icon", title, "aria-label": title, onclick: action }, saltus.icon(icon));
    this.playButton = button("play", "play or pause (space)", () => clock.toggle());
    this.loopButton = button("loop", "loop (l)", () => { clock.loop = !clock.loop; clock.tell(); });
    this.canvas = saltus.element("canvas", { class: "timeline", tabindex: "0", role: "slider", "aria-label": "time" });
    this.time = saltus.element("output", { class: "time" });
    this.speed = saltus.element("output", { class: "speed" });
    this.sides = saltus.element("span", { class: "sides", title: "both sides of the jump" });
    this.before = saltus.element("button", { type: "button", onclick: () => clock.seek(clock.t, "before") }, "before");
    this.after = saltus.element("button", { type: "button", onclick: () => clock.seek(clock.t, "after") }, "after");
    this.sides.append(this.before, this.after);
    this.what = saltus.element("span", { class: "what", "aria-live": "polite" });
    const slower = saltus.element("button", { type: "button", title: "slower (−)", "aria-label": "slower", onclick: () => clock.faster(-1) }, "−");
    const faster = saltus.element("button", { type: "button", title: "faster (+)", "aria-label": "faster", onclick: () => clock.faster(1) }, "+");
    this.root = saltus.element("div", { class: "controls" }, this.canvas,
      saltus.element("div", { class: "row" },
        saltus.element("span", { class: "group" }, button("start", "to the start (home)", () => { clock.pause(); clock.seek(clock.start); }),
          button("previous", "previous event (p)", () => clock.previous()), this.playButton, button("next", "next event (n)", () => clock.next()), this.loopButton),
        saltus.element("span", { class: "group times" }, this.time, saltus.element("span", { class: "speeds" }, slower, this.speed, faster)),
        saltus.element("span", { class: "group now" }, this.sides, this.what)));
    saltus.dragTime(this.canvas, clock, () => this.frame());
    clock.listen(() => this.show());
  }
  frame() { return { x0: 9, x1: this.canvas.clientWidth - 9, from: this.clock.from, to: this.clock.to }; }
  show() {
    const { clock } = this;
    const digits = Math.max(0, Math.min(9, 4 - Math.floor(Math.log10(Math.max(clock.end - clock.start, 1e-12)))));
    this.time.textContent = `t = ${clock.t.toFixed(digits)} s`;
    this.speed.textContent = clock.speedText;
    this.playButton.replaceChildren(saltus.icon(clock.playing ? "pause" : "play"));
    this.loopButton.setAttribute("aria-pressed", clock.loop);
    const at = clock.event;
    this.sides.classList.toggle("shown", at >= 0);
    this.before.setAttribute("aria-pressed", clock.side === "before");
    this.after.setAttribute("aria-pressed", clock.side === "after");
    this.what.textContent = at >= 0 ? this.player.eventText(clock.t) : this.player.modeText();
    this.canvas.setAttribute("aria-valuetext", this.time.textContent);
    this.canvas.setAttribute("aria-valuenow", clock.t);
    this.canvas.setAttribute("aria-valuemin", clock.start);
    this.canvas.setAttribute("aria-valuemax", clock.end);
    this.draw();
  }
  draw() {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (width < 20) return;
    if (this.canvas.width !== Math.round(width * ratio)) { this.canvas.width = Math.round(width * ratio); this.canvas.height = Math.round(height * ratio); }
    const pen = this.canvas.getContext("2d"), { x0, x1, from, to } = this.frame(), { clock, player } = this;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const X = (t) => Math.min(Math.max(x0 + (t - from) / (to - from) * (x1 - x0), x0), x1), y = height - 11;
    const bar = (a, b, ink) => { pen.fillStyle = ink; pen.beginPath(); pen.roundRect(a, y - 3, Math.max(b - a, 0.01), 6, 3); pen.fill(); };
    bar(x0, x1, player.colour("--track"));
    bar(x0, X(clock.t), player.colour("--accent"));
    pen.lineWidth = 1.5;
    const seen = new Set();
    this.events.times.forEach((t, k) => {
      if (t < from || t > to) return;
      const x = Math.round(X(t)), tag = `${x}/${this.events.which[k]}`;
      if (seen.has(tag)) return;
      seen.add(tag);
      pen.strokeStyle = player.ink(this.events.which[k] % 8);
      pen.beginPath(); pen.moveTo(x + 0.5, y - 6); pen.lineTo(x + 0.5, y - 17); pen.stroke();
    });
    pen.fillStyle = player.colour("--accent"); pen.strokeStyle = player.colour("--card"); pen.lineWidth = 2.5;
    pen.beginPath(); pen.arc(X(clock.t), y, 7.5, 0, 7); pen.fill(); pen.stroke();
  }
};
