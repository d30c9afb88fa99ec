// The time that is shown: played, stepped from event to event, or chosen by hand.
"use strict";
saltus.SPEEDS = [];
for (let power = -6; power <= 3; power++) for (const factor of [1, 2, 5]) saltus.SPEEDS.push(Number(`${factor}e${power}`));

saltus.Clock = class {
  constructor(start, end, stop, eventTimes) {
    Object.assign(this, { start, end, stop: Math.max(stop, start), t: start, side: "after", playing: false, loop: true });
    this.events = Array.from(new Set(eventTimes)).sort((a, b) => a - b);
    this.listeners = [];
    this.from = start;
    this.to = end > start ? end : start + 1;
    const duration = Math.max(this.stop - start, 1e-300);
    const real = duration >= 2.5 && duration <= 20;
    this.speed = real ? 1 : saltus.SPEEDS.reduce((best, one) =>
      Math.abs(Math.log(one / (duration / 8))) < Math.abs(Math.log(best / (duration / 8))) ? one : best, 1);
    this.frame = (now) => this.advance(now);
  }
  listen(listener) { this.listeners.push(listener); }
  tell() { for (const listener of this.listeners) listener(this); }
  seek(t, side = "after") {
    this.t = Math.min(Math.max(t, this.start), this.end);
    this.side = side;
    this.tell();
  }
  // The stretch of time that curves and the time line show.
  zoom(around, factor) {
    const end = this.end > this.start ? this.end : this.start + 1;
    const width = Math.min((this.to - this.from) * factor, end - this.start);
    if (!Number.isFinite(factor)) [this.from, this.to] = [this.start, end];
    else {
      const share = (around - this.from) / (this.to - this.from);
      this.from = Math.min(Math.max(around - share * width, this.start), end - width);
      this.to = this.from + width;
    }
    this.zoomed = true;
    this.tell();
    this.zoomed = false;
  }
  get event() { return this.events.indexOf(this.t); }
  next() {
    this.pause();
    if (this.event >= 0 && this.side === "before") return this.seek(this.t, "after");
    const found = this.events.find((time) => time > this.t);
    this.seek(found === undefined ? this.end : found, found === undefined ? "after" : "before");
  }
  previous() {
    this.pause();
    if (this.event >= 0 && this.side === "after") return this.seek(this.t, "before");
    const found = this.events.filter((time) => time < this.t).pop();
    this.seek(found === undefined ? this.start : found);
  }
  faster(steps) {
    const now = saltus.SPEEDS.findIndex((one) => one >= this.speed * 0.999);
    this.speed = saltus.SPEEDS[Math.min(Math.max(now + steps, 0), saltus.SPEEDS.length - 1)];
    this.tell();
  }
  get speedText() {
    if (this.speed === 1) return "real time";
    const times = this.speed > 1 ? saltus.number(this.speed) : `1/${saltus.number(1 / this.speed)}`;
    return this.speed > 1 ? `${times} × real time` : `${times} of real time`;
  }
  toggle() { if (this.playing) this.pause(); else this.play(); }
  play() {
    if (this.t >= this.stop) this.t = this.start;
    this.side = "after";
    this.playing = true;
    this.last = null;
    this.resting = 0;
    requestAnimationFrame(this.frame);
    this.tell();
  }
  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.tell();
  }
  advance(now) {
    if (!this.playing) return;
    const passed = this.last === null ? 0 : Math.min((now - this.last) / 1000, 0.1);
    this.last = now;
    if (this.t < this.stop) {
      this.t = Math.min(this.t + passed * this.speed, this.stop);
      this.resting = 0;
    } else {
      this.resting += passed;
      if (!this.loop) this.playing = false;
      else if (this.resting > 0.9) this.t = this.start;
    }
    this.tell();
    requestAnimationFrame(this.frame);
  }
};
