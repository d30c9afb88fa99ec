// The studio: pick a scenario, change its numbers, run it, look at it, compare, save.
"use strict";
saltus.Studio = class {
  constructor(root, token) {
    Object.assign(this, { root, token, runs: [], shown: [], players: [] });
    root.className = "studio";
    const element = saltus.element;
    this.form = element("div", { class: "form" });
    this.wrong = element("p", { class: "wrong", role: "alert" });
    this.runButton = element("button", { type: "button", class: "main", onclick: () => this.run() }, "Run");
    this.stopButton = element("button", { type: "button", onclick: () => this.stop(), hidden: true }, "stop");
    this.progress = element("progress", { max: "1", hidden: true });
    this.status = element("span", { class: "status", "aria-live": "polite" });
    this.aside = element("aside", {}, element("h1", { class: "brand" }, "saltus studio", element("button", { type: "button", onclick: () => this.gallery() }, "gallery")), this.form);
    this.work = element("div", { class: "work" });
    this.many = new saltus.Many(this);
    root.append(this.aside, this.work);
    this.pulse = setInterval(() => this.ask("catalogue").catch(() => this.gone()), 10000);
    this.begin();
  }
  async ask(where, body) {
    const options = { headers: { "x-saltus-token": this.token } };
    if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body), headers: { ...options.headers, "content-type": "application/json" } });
    const answer = await fetch(`/${where}`, options).catch(() => { this.gone(); throw new saltus.Gone(); });
    if (answer.status === 422) throw new saltus.Refused((await answer.json()).error);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }
  gone() {
    if (this.root.querySelector(".gone")) return;
    this.root.append(saltus.element("p", { class: "gone", role: "alert" }, "The studio has ended. Start it again with: saltus studio"));
    clearInterval(this.pulse);
  }
  async begin() {
    this.catalogue = await this.ask("catalogue");
    const first = await this.ask("scenario");
    if (first) { this.edit(first); this.run(); } else this.gallery();
  }
  gallery() {
    this.closePlayers();
    const element = saltus.element, kinds = [...new Set(this.catalogue.map((one) => one.kind))], holder = element("div", { class: "gallery" });
    for (const kind of kinds) {
      holder.append(element("h2", {}, kind.replace("_", " ")));
      for (const one of this.catalogue.filter((entry) => entry.kind === kind)) holder.append(element("button", { type: "button", class: "card", "data-name": one.name, onclick: () => this.pick(one.name) },
        one.picture ? element("img", { src: `/picture/${one.name}?token=${this.token}`, alt: "", loading: "lazy" }) : element("div", { class: "blank" }), element("b", {}, one.name), element("span", {}, one.description.replaceAll("`", ""))));
    }
    this.work.replaceChildren(holder);
    if (!this.scenario) this.form.replaceChildren(element("p", {}, "Pick a scenario. Everything is computed on this machine; nothing leaves it."));
  }
  async pick(name) {
    this.edit(await this.ask(`scenario/${name}`));
    this.run();
  }
  edit(scenario) {
    this.scenario = scenario;
    const element = saltus.element, groups = new Map();
    for (const field of scenario.fields) { const name = field.group; if (!groups.has(name)) groups.set(name, []); groups.get(name).push(field); }
    const sets = [...groups].map(([name, fields]) => element("fieldset", {}, element("legend", {}, name || scenario.data.kind.replace("_", " ")), fields.map((field) => this.field(field))));
    this.text = element("textarea", { spellcheck: "false", "aria-label": "scenario as TOML" });
    this.text.value = scenario.text;
    const use = element("button", { type: "button", onclick: () => this.useText() }, "use this text");
    this.form.replaceChildren(element("div", { class: "head" }, element("div", { class: "bar" }, this.runButton, this.stopButton, this.progress, this.status), this.wrong), element("h3", {}, scenario.name), ...sets,
      this.many.form(scenario), element("details", {}, element("summary", {}, "as TOML"), this.text, use));
  }
  field(field) {
    const element = saltus.element, label = field.label, change = (value) => { this.put(field.key, value); };
    if (field.type === "switch") {
      const box = element("input", { type: "checkbox", checked: field.value, onchange: () => { change(box.checked); this.run(); } });
      return element("label", { class: "field" }, label, box, field.help ? element("small", {}, field.help) : null);
    }
    if (field.type === "choice") {
      const list = element("select", { onchange: () => { change(list.value); this.run(); } }, field.choices.map((one) => element("option", { selected: one === field.value }, one)));
      return element("label", { class: "field" }, label, list, field.help ? element("small", {}, field.help) : null);
    }
    if (field.type === "text") {
      const box = element("input", { type: "text", value: field.value, onchange: () => { change(box.value); this.run(); } });
      return element("label", { class: "field" }, label, box, field.help ? element("small", {}, field.help) : null);
    }
    const whole = field.type === "whole", low = field.min ?? field.above, high = field.max ?? field.below, size = Math.abs(field.value) || 1;
    const from = low !== undefined ? Math.max(low, field.value - 3 * size) : field.value - 3 * size, to = high !== undefined ? Math.min(high, field.value + 3 * size) : field.value + 3 * size;
    const box = element("input", { type: "text", inputmode: "decimal", value: Number(field.value.toPrecision(7)), "data-key": field.key, "aria-label": field.key });
    const slider = element("input", { type: "range", min: from, max: to, step: whole ? 1 : (to - from) / 400, value: field.value, tabindex: "-1", "aria-label": `${field.key}, slider` });
    slider.addEventListener("input", () => { const value = Number(Number(slider.value).toPrecision(5)); box.value = value; change(value); });
    slider.addEventListener("change", () => this.run());
    box.addEventListener("change", () => { const value = Number(box.value); change(box.value.trim() === "" || Number.isNaN(value) ? box.value : value); slider.value = value; this.run(); });
    return element("div", { class: "field" }, element("span", {}, label), box, slider, field.help ? element("small", {}, field.help) : null);
  }
  put(key, value) {
    const parts = key.split("."), last = parts.pop(), field = this.scenario.fields.find((one) => one.key === key);
    const where = parts.reduce((table, part) => table[part], this.scenario.data);
    where[last] = value;
    field.value = value;
  }
  // The starts with the numbers that the form has now.
  starts() {
    const now = ({ key, value, single }) => {
      const given = key.split(".").reduce((table, part) => table?.[part], this.scenario.data);
      return { key, single, value: given === undefined ? value : [given].flat() };
    };
    return this.scenario.starts.map(({ position, velocity }) => ({ position: now(position), velocity: now(velocity) }));
  }
  // A start was dragged in the scene to these numbers.
  async dragged(key, values) {
    const parts = key.split("."), last = parts.pop(), { data, name, starts } = this.scenario;
    const single = starts.some((one) => [one.position, one.velocity].some((two) => two.key === key && two.single));
    parts.reduce((table, part) => table[part] ??= {}, data)[last] = single ? values[0] : values;
    // Rods keep their length: velocities that would change it are corrected.
    if (data.rods?.length && data.kind === "sliding") Object.assign(data.solve ??= {}, { project: true });
    try { this.edit(await this.ask("form", { name, data })); this.run(); } catch (problem) { this.complain(problem); }
  }
  async useText() {
    try { this.edit(await this.ask("form", { name: this.scenario.name, text: this.text.value })); this.run(); } catch (problem) { this.complain(problem); }
  }
  complain(problem) {
    if (problem instanceof saltus.Gone) return;
    if (!(problem instanceof saltus.Refused)) throw problem;
    this.wrong.textContent = problem.message;
    const key = problem.message.match(/^`([\w.]+)`/)?.[1];
    if (key) this.form.querySelector(`[data-key="${key}"]`)?.setAttribute("aria-invalid", "true");
  }
  async run() {
    this.wrong.textContent = "";
    for (const one of this.form.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
    try {
      const { name, data } = this.scenario, given = JSON.stringify(data), job = await this.ask("run", { name, data });
      await this.waitFor(job, given);
    } catch (problem) { this.complain(problem); }
  }
  async waitFor(job, given) {
    this.current = job.number;
    this.progress.hidden = this.stopButton.hidden = false;
    for (let pause = 8; job.state === "waiting" || job.state === "running"; pause = Math.min(1.4 * pause, 120)) {
      if (job.until > 0 && job.time > 0) this.progress.value = Math.min(job.time / job.until, 1); else this.progress.removeAttribute("value");
      this.status.textContent = job.time > 0 ? `t = ${saltus.number(job.time)} s, ${job.events} events` : "preparing the run";
      await new Promise((done) => setTimeout(done, pause));
      job = await this.ask(`run/${job.number}`);
    }
    if (this.current !== job.number) return;
    this.progress.hidden = this.stopButton.hidden = true;
    this.status.textContent = job.state === "done" ? `computed in ${saltus.number(job.wall_time, 3)} s` : "";
    if (job.state !== "done") { this.wrong.textContent = job.message; return; }
    this.runs.push({ ...job, given });
    if (this.runs.length > 8) this.runs.shift();
    this.show([job.number, ...this.shown.slice(1)]);
  }
  stop() { this.ask(`run/${this.current}/stop`, {}); }
  closePlayers() { for (const player of this.players) player.close(); this.players = []; }
  // The chosen runs side by side, up to four, with one time.
  async show(numbers) {
    this.shown = numbers.filter((number, k) => this.runs.some((one) => one.number === number) && numbers.indexOf(number) === k).slice(0, 4);
    const documents = await Promise.all(this.shown.map((number) => this.ask(`run/${number}/document`)));
    const t = this.players[0]?.clock.t, playing = this.players[0]?.clock.playing;
    this.closePlayers();
    const holder = saltus.element("div", { class: this.shown.length > 1 ? "players two" : "players" });
    this.work.replaceChildren(this.toolbar(), holder);
    documents.forEach((data, k) => {
      const place = saltus.element("div", {});
      holder.append(saltus.element("div", {}, place));
      data.title = `${data.title} · run ${this.shown[k]}`;
      this.players.push(new saltus.Player(place, data, { keys: k === 0, onTime: (clock) => { if (k === 0) for (const other of this.players.slice(1)) other.clock.seek(clock.t, clock.side); } }));
    });
    const ran = this.runs.find((one) => one.number === this.shown[0]);
    // The handles move the scenario of the form, so they stand only in a run of it.
    if (ran.given === JSON.stringify(this.scenario.data)) new saltus.Handles(this.players[0], this.starts(), (key, values) => this.dragged(key, values));
    if (t !== undefined && t <= this.players[0].clock.end) this.players[0].clock.seek(t);
    if (playing) this.players[0].clock.play();
  }
  toolbar() {
    const element = saltus.element, first = this.shown[0];
    const chips = this.runs.map((one) => element("button", { type: "button", class: "chip", "data-run": one.number, "aria-pressed": String(this.shown.includes(one.number)), title: "show this run; with Shift beside those that are shown",
      onclick: (event) => this.show(event.shiftKey ? [...this.shown, one.number] : [one.number]) }, `run ${one.number}`));
    const beside = element("button", { type: "button", class: "beside", onclick: () => this.show(this.shown.length > 1 ? [first] : [first, this.runs.filter((one) => one.number !== first).pop()?.number]) }, this.shown.length > 1 ? "one alone" : "compare with the last");
    const save = ["toml", "nc", "html", "png"].map((ending) => element("a", { href: `/run/${first}/file.${ending}?token=${this.token}`, download: "", class: `save-${ending}` }, ending === "nc" ? "NetCDF" : ending.toUpperCase()));
    const python = element("button", { type: "button", onclick: async () => { const text = await (await fetch(`/run/${first}/file.py?token=${this.token}`)).text(); await navigator.clipboard.writeText(text); python.textContent = "copied"; } }, "copy the Python");
    return element("div", { class: "bar" }, ...chips, this.runs.length > 1 ? beside : null, element("span", {}, "save:"), ...save, python);
  }
};
saltus.Refused = class extends Error {};
saltus.Gone = class extends Error {};
