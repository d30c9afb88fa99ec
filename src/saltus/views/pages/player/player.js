// The page of a run: scene, time line, curves, events and facts, in one element.
"use strict";
saltus.Player = class {
  constructor(root, data, options = {}) {
    Object.assign(this, { root, data, options });
    root.classList.add("saltus");
    this.palette = {};
    root.dataset.theme = this.dark ? "dark" : "light";
    this.events = { ...data.events, times: Array.from(saltus.unpack(data.events.time).values) };
    this.times = saltus.unpack(data.rows.time).values;
    this.curveTimes = saltus.unpack(data.curves.time).values;
    this.curveSides = saltus.unpack(data.curves.side).values;
    this.clock = new saltus.Clock(this.times[0], this.times[this.times.length - 1], data.moves_until, this.events.times);
    if (data.modes) { const { values, shape } = saltus.unpack(data.modes.values); this.modeValues = { values, count: shape[1] }; }
    this.timeline = new saltus.Timeline(this, this.clock, this.events);
    this.layout();
    this.openScene();
    this.clock.listen((clock) => this.show(clock));
    this.root.classList.toggle("still", !(this.clock.end > this.clock.start));
    this.watch();
    this.theme();
  }
  layout() {
    const { data } = this, element = saltus.element;
    this.stage = element("div", { class: "stage" });
    this.left = element("div", { class: "left" }, this.stage, this.timeline.root);
    const tabs = [["curves", "Curves", this.curves()], ["events", `Events (${data.events.all})`, this.eventTable()],
      ["scenario", "Scenario", this.scenario()], ["about", "About", this.about()]].filter(([, , body]) => body);
    this.tabs = element("div", { class: "tabs", role: "tablist" });
    this.side = element("div", { class: "side" }, this.tabs);
    for (const [name, title, body] of tabs) {
      const button = element("button", { type: "button", role: "tab", "data-tab": name, onclick: () => this.open(name) }, title);
      this.tabs.append(button);
      body.classList.add("tab");
      body.dataset.tab = name;
      this.side.append(body);
    }
    const header = element("header", {}, element("div", { class: "titles" }, element("h1", {}, data.title), data.about ? element("p", {}, data.about) : null),
      element("div", { class: "badges" }, element("span", { class: `badge ${data.outcome.ok ? "good" : "notice"}`, title: data.outcome.message }, data.outcome.name),
        element("button", { type: "button", class: "icon", title: "light or dark (d)", "aria-label": "light or dark", onclick: () => this.switchTheme() }, saltus.icon("theme")),
        element("button", { type: "button", class: "icon", title: "keys (?)", "aria-label": "keys", onclick: () => this.help.showModal() }, saltus.icon("help"))));
    this.help = this.keysDialog();
    this.root.append(header, element("main", {}, this.left, this.side), this.help);
    this.open(this.clock.end > this.clock.start ? tabs[0][0] : "about");
  }
  openScene() {
    if (!this.data.scene) { this.root.classList.add("flat"); this.stage.remove(); return; }
    if (!document.createElement("canvas").getContext("webgl2")) {
      this.stage.append(saltus.element("p", { class: "missing" }, "This browser has no WebGL 2, so the scene cannot be drawn. Curves and events work."));
      return;
    }
    this.space = new saltus.Space(this.stage, this.data.scene, this.times, this.clock, this);
    this.sceneTools();
  }
  sceneTools() {
    const element = saltus.element, space = this.space, tools = element("div", { class: "tools" });
    const views = [["3-D", ...this.data.scene.view], ["top", -90, 89.9], ["side", -90, 0.5], ["end", 0, 0.5]];
    const row = element("div", { class: "views", role: "group", "aria-label": "view" });
    for (const [name, azimuth, elevation] of views) row.append(element("button", { type: "button", onclick: () => space.look(azimuth, elevation) }, name));
    tools.append(row);
    const ticks = element("div", { class: "switches" });
    for (const part of space.parts.filter((one) => one.thing?.what === "arrows")) {
      const { name, units, ink } = part.thing;
      const box = element("input", { type: "checkbox", checked: part.thing.shown, onchange: () => { space.byName[name].root.visible = box.checked; space.render(); } });
      ticks.append(element("label", {}, box, element("i", { class: "dot", "data-ink": ink }), `${name} [${units}]`));
    }
    if (this.data.scene.heights !== 1) {
      const box = element("input", { type: "checkbox", checked: true, onchange: () => space.stretch(box.checked ? this.data.scene.heights : 1) });
      ticks.append(element("label", { class: "heights" }, box, `heights × ${this.data.scene.heights}`));
    }
    if (this.data.scene.follow) {
      this.followBox = element("input", { type: "checkbox", onchange: () => space.follow(this.followBox.checked) });
      ticks.append(element("label", {}, this.followBox, "follow (c)"));
      if (this.data.scene.follows) { space.show(); this.followBox.checked = true; space.follow(true); }
    }
    const coloured = space.parts.find((one) => one.thing?.what === "rods" || one.thing?.what === "path");
    const details = element("details", {}, element("summary", {}, "show …"), ticks);
    if (ticks.children.length) tools.append(details);
    if (coloured) ticks.append(element("span", { class: "key" }, coloured.thing.name, ": ", element("i", { class: "dot", "data-ink": 0 }), "pulls ", element("i", { class: "dot", "data-ink": 1 }), "pushes"));
    this.scaleBar = element("div", { class: "scale" }, element("i", {}), element("span", {}));
    this.triad = element("canvas", { class: "triad", width: 132, height: 132 });
    this.stage.append(tools, this.scaleBar, this.triad);
    this.onView = () => this.drawScale();
  }
  drawScale() {
    const perMetre = this.space.pixelsPerMetre(), length = saltus.niceStep(110 / perMetre * 0.75, 1);
    this.scaleBar.firstChild.style.width = `${length * perMetre}px`;
    this.scaleBar.lastChild.textContent = length >= 1000 ? `${saltus.number(length / 1000)} km` : length >= 1 ? `${saltus.number(length)} m` : length >= 0.01 ? `${saltus.number(length * 100)} cm` : length >= 1e-3 ? `${saltus.number(length * 1000)} mm` : `${saltus.number(length)} m`;
    const pen = this.triad.getContext("2d"), turned = new THREE.Vector3();
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, 66, 66);
    pen.font = "11px system-ui, sans-serif"; pen.textAlign = "center"; pen.textBaseline = "middle"; pen.lineWidth = 1.6;
    ["x", "y", "z"].forEach((name, axis) => {
      turned.set(axis === 0 ? 1 : 0, axis === 1 ? 1 : 0, axis === 2 ? 1 : 0).applyQuaternion(this.space.camera.quaternion.clone().invert());
      pen.strokeStyle = pen.fillStyle = this.colour("--faint");
      pen.beginPath(); pen.moveTo(33, 33); pen.lineTo(33 + 20 * turned.x, 33 - 20 * turned.y); pen.stroke();
      pen.fillText(name, 33 + 28 * turned.x, 33 - 28 * turned.y);
    });
  }
  curves() {
    const { data } = this, holder = saltus.element("div", { class: "curves" });
    this.panels = [];
    if (data.modes) this.panels.push(new saltus.ModePanel(holder, data.modes, this.curveTimes, this.clock, this));
    for (const panel of data.curves.panels) this.panels.push(new saltus.Panel(holder, panel, this.curveTimes, this.curveSides, this.clock, this));
    holder.append(saltus.element("p", { class: "hint" }, "Press or drag to choose the time; Shift and the wheel zoom in, a double click zooms out."));
    return holder;
  }
  eventTable() {
    const { events } = this, element = saltus.element;
    if (!events.times.length) return element("div", { class: "events" }, element("p", {}, "Nothing happened at an instant: the motion is smooth from start to end."));
    const head = element("tr", {}, ["time [s]", "event", ...events.columns.map((column) => column.title)].map((title) => element("th", {}, title)));
    this.eventRows = events.times.map((t, k) => element("tr", { tabindex: "0", onclick: () => { this.clock.pause(); this.clock.seek(t, "before"); },
      onkeydown: (event) => { if (event.key === "Enter") { this.clock.pause(); this.clock.seek(t, "before"); } } },
      element("td", {}, String(Number(t.toPrecision(10)))), element("td", {}, element("i", { class: "dot", "data-ink": events.which[k] % 8 }), events.names[events.which[k]]),
      events.columns.map((column) => element("td", {}, column.cells[k]))));
    const more = events.all > events.times.length ? element("p", {}, `and ${events.all - events.times.length} more in the dataset`) : null;
    return element("div", { class: "events" }, element("table", {}, element("thead", {}, head), element("tbody", {}, this.eventRows)), more);
  }
  scenario() {
    if (!this.data.scenario) return null;
    const copy = saltus.element("button", { type: "button", class: "copy", onclick: () => navigator.clipboard?.writeText(this.data.scenario).then(() => { copy.textContent = "copied"; }) }, "copy");
    return saltus.element("div", { class: "scenario" }, copy, saltus.element("pre", {}, this.data.scenario.trim()));
  }
  about() {
    const element = saltus.element, { outcome, facts } = this.data;
    const rows = [["outcome", `${outcome.name}: ${outcome.message}`], ...facts].map(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
    return element("div", { class: "about" }, element("dl", {}, rows.flat()),
      element("p", {}, "Made by saltus. Everything stands in this one file; nothing is loaded from elsewhere. Drawn with three.js (MIT licence)."));
  }
  keysDialog() {
    const rows = [["space", "play, pause"], ["n, p", "next, previous event: before, then after the jump"], ["← →", "a step; with Shift a larger one"], ["+ −", "faster, slower"],
      ["Home, End", "start, end"], ["l", "loop"], ["f", "fit the view"], ["t", "view from above"], ["c", "camera follows what moves"], ["d", "light or dark"], ["1 to 4", "curves, events, scenario, about"]];
    const dialog = saltus.element("dialog", {}, saltus.element("h2", {}, "Keys"), saltus.element("dl", {}, rows.flatMap(([key, text]) => [saltus.element("dt", {}, key), saltus.element("dd", {}, text)])),
      saltus.element("p", {}, "Drag turns the scene, the wheel or two fingers zoom, the right button moves it."), saltus.element("button", { type: "button", onclick: () => dialog.close() }, "close"));
    return dialog;
  }
  open(name) {
    for (const one of this.side.querySelectorAll("[data-tab]")) {
      if (one.role === "tab") one.setAttribute("aria-selected", one.dataset.tab === name); else one.hidden = one.dataset.tab !== name;
    }
    this.tab = name;
    if (this.observer) this.draw();
  }
  show() {
    this.space?.show();
    if (this.tab === "curves") for (const panel of this.panels) if (this.clock.zoomed) panel.draw(); else panel.cursor();
    this.eventRows?.forEach((row, k) => row.classList.toggle("current", this.events.times[k] === this.clock.t));
    this.options.onTime?.(this.clock);
  }
  eventText(t) {
    const names = this.events.times.flatMap((time, k) => time === t ? [this.events.names[this.events.which[k]]] : []);
    const counts = names.reduce((all, name) => all.set(name, (all.get(name) || 0) + 1), new Map());
    return Array.from(counts, ([name, count]) => count > 1 ? `${count} × ${name}` : name).join(", ");
  }
  modeText() {
    if (!this.modeValues || this.modeValues.count > 6) return "";
    const [row] = saltus.locate(this.curveTimes, this.clock.t, this.clock.side), { values, count } = this.modeValues;
    return Array.from({ length: count }, (_, body) => this.data.modes.names[values[row * count + body]]).join(", ");
  }
  ink(index) { return (this.dark ? saltus.DARK_INKS : saltus.INKS)[index % 8]; }
  colour(name) { return this.palette[name] ??= getComputedStyle(this.root).getPropertyValue(name).trim(); }
  get dark() { return this.chosen ? this.chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches; }
  switchTheme() { this.chosen = this.dark ? "light" : "dark"; this.theme(); }
  theme() {
    this.root.dataset.theme = this.dark ? "dark" : "light";
    document.documentElement.style.colorScheme = this.dark ? "dark" : "light";
    this.palette = {};
    for (const dot of this.root.querySelectorAll(".dot")) dot.style.background = this.ink(Number(dot.dataset.ink));
    this.space?.theme();
    this.draw();
  }
  draw() {
    this.space?.resize();
    this.space?.show();
    this.timeline.show();
    if (this.tab === "curves") for (const panel of this.panels) panel.draw();
  }
  watch() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (!this.chosen) this.theme(); });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.root);
    this.observer.observe(this.stage);
    if (this.options.keys !== false) window.addEventListener("keydown", this.onKey = (event) => this.key(event));
  }
  key(event) {
    if (event.target.matches?.("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const { clock } = this, step = (clock.to - clock.from) / (event.shiftKey ? 20 : 200);
    const actions = {
      " ": () => clock.toggle(), n: () => clock.next(), p: () => clock.previous(), ".": () => clock.next(), ",": () => clock.previous(),
      ArrowRight: () => { clock.pause(); clock.seek(clock.t + step); }, ArrowLeft: () => { clock.pause(); clock.seek(clock.t - step); },
      Home: () => { clock.pause(); clock.seek(clock.start); }, End: () => { clock.pause(); clock.seek(clock.end); },
      "+": () => clock.faster(1), "=": () => clock.faster(1), "-": () => clock.faster(-1), l: () => { clock.loop = !clock.loop; clock.tell(); },
      f: () => this.space?.look(...this.data.scene.view), t: () => this.space?.look(-90, 89.9), c: () => this.followBox?.click(), d: () => this.switchTheme(), "?": () => this.help.showModal(),
      1: () => this.open("curves"), 2: () => this.open("events"), 3: () => this.open("scenario"), 4: () => this.open("about"),
    };
    const action = actions[event.key];
    if (!action || (event.key === " " && event.target.matches?.("button, summary"))) return;
    event.preventDefault();
    action();
  }
  // Take the page apart, so that another run can have its place.
  close() {
    this.clock.pause();
    this.observer.disconnect();
    if (this.onKey) window.removeEventListener("keydown", this.onKey);
    this.space?.renderer.dispose();
    this.space?.renderer.forceContextLoss();
    this.root.replaceChildren();
  }
};
