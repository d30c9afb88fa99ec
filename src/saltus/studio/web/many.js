// An ensemble in the studio: what varies, and the distributions of what comes out, as they fill.
"use strict";
saltus.Many = class {
  constructor(studio) { Object.assign(this, { studio }); }
  // The part of the form that starts one.
  form(scenario) {
    const element = saltus.element, given = scenario.data.ensemble;
    const numbers = scenario.fields.filter((one) => one.type === "number" && !/^(solve|ensemble)\b/.test(one.key));
    this.samples = element("input", { type: "text", inputmode: "numeric", value: given?.samples ?? 256, "aria-label": "samples" });
    const rows = [element("label", { class: "field" }, "samples", this.samples)];
    if (!given) {
      const likely = numbers.find((one) => /mu$/.test(one.key)) ?? numbers.find((one) => /mass/.test(one.key)) ?? numbers[0];
      this.key = element("select", { "aria-label": "key that varies" }, numbers.map((one) => element("option", { selected: one === likely }, one.key)));
      this.spread = element("input", { type: "text", inputmode: "decimal", value: "20", "aria-label": "spread in percent" });
      rows.unshift(element("label", { class: "field" }, "varies", this.key), element("label", { class: "field" }, "evenly by ± [%]", this.spread));
    } else rows.unshift(element("p", { class: "hint" }, "Varies as the table [ensemble] says: ", Object.keys(given).filter((key) => typeof given[key] === "object").join(", "), "."));
    const start = element("button", { type: "button", class: "start-many", onclick: () => this.start() }, "Run many");
    return element("details", { class: "ensemble" }, element("summary", {}, "ensemble"), ...rows, start);
  }
  // The scenario with a table [ensemble].
  data() {
    const data = structuredClone(this.studio.scenario.data), samples = Number(this.samples.value);
    if (data.ensemble) return Object.assign(data, { ensemble: { ...data.ensemble, samples } });
    const field = this.studio.scenario.fields.find((one) => one.key === this.key.value), share = Number(this.spread.value) / 100;
    const size = share * (Math.abs(field.value) || 1), low = field.min ?? field.above ?? -Infinity, high = field.max ?? field.below ?? Infinity;
    const ends = [Math.max(field.value - size, low), Math.min(field.value + size, high)];
    return Object.assign(data, { ensemble: { samples, seed: 1, [field.key]: { uniform: ends } } });
  }
  async start() {
    const { studio } = this;
    studio.wrong.textContent = "";
    try { await this.watch(await studio.ask("many", { name: studio.scenario.name, data: this.data() })); } catch (problem) { studio.complain(problem); }
  }
  async watch(job) {
    const { studio } = this, element = saltus.element;
    this.current = job.number;
    studio.closePlayers();
    this.status = element("span", { class: "status", "aria-live": "polite" });
    this.progress = element("progress", { max: "1" });
    this.stopButton = element("button", { type: "button", onclick: () => studio.ask(`many/${job.number}/stop`, {}) }, "stop");
    this.tools = element("span", { class: "telling" });
    this.charts = element("div", { class: "charts" });
    this.outcomes = element("p", { class: "outcomes" });
    this.root = element("div", { class: "many" }, element("div", { class: "bar" }, this.progress, this.stopButton, this.status, this.tools), this.outcomes, this.charts);
    studio.work.replaceChildren(this.root);
    for (;;) {
      job = await studio.ask(`many/${job.number}`);
      if (this.current !== job.number || !this.root.isConnected) return;
      this.show(job);
      if (job.state !== "waiting" && job.state !== "running") break;
      await new Promise((done) => setTimeout(done, 400));
    }
    this.finish(job);
  }
  show(job) {
    const pace = job.pace > 0 ? `, ${saltus.number(job.pace, 3)} per second` : "";
    this.status.textContent = job.ended > 0 ? `${job.ended} of ${job.samples} samples${pace}` : "preparing the samples";
    if (job.ended > 0) this.progress.value = job.ended / job.samples; else this.progress.removeAttribute("value");
    this.outcomes.textContent = job.outcomes.map((one) => `${one.count} ${one.outcome.replaceAll("_", " ")}`).join(", ");
    this.charts.replaceChildren(...job.columns.map((one) => this.histogram(one)));
  }
  finish(job) {
    const { studio } = this, element = saltus.element;
    this.progress.hidden = this.stopButton.hidden = true;
    this.status.textContent = job.message || `${job.complete} of ${job.samples} samples`;
    for (const one of job.telling) this.tools.append(element("button", { type: "button", class: "sample", "data-sample": one.sample, title: `run sample ${one.sample} and look at it`, onclick: () => this.play(job.number, one.sample) }, `▶ ${one.what}`));
    if (job.complete) this.tools.append(element("a", { href: `/many/${job.number}/page.html?token=${studio.token}`, download: "", class: "save-many" }, "save as HTML"));
  }
  async play(number, sample) {
    try { this.studio.edit(await this.studio.ask(`many/${number}/sample/${sample}`)); this.studio.run(); } catch (problem) { this.studio.complain(problem); }
  }
  histogram({ label, edges, counts }) {
    const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), most = Math.max(...counts, 1), low = edges[0], span = edges[edges.length - 1] - low || 1;
    svg.setAttribute("viewBox", "0 0 300 120");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `distribution of ${label}`);
    const put = (tag, properties, text) => { const made = document.createElementNS(space, tag); for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value); if (text) made.textContent = text; svg.append(made); };
    counts.forEach((count, k) => put("rect", { x: 300 * (edges[k] - low) / span, width: Math.max(300 * (edges[k + 1] - edges[k]) / span - 0.8, 0.5), y: 100 * (1 - count / most), height: 100 * count / most, class: "bin" }));
    put("text", { x: 0, y: 116 }, saltus.number(low));
    put("text", { x: 300, y: 116, "text-anchor": "end" }, saltus.number(edges[edges.length - 1]));
    return saltus.element("figure", {}, saltus.element("figcaption", {}, label), svg);
  }
};
