// Handles at the start of a run: drag a ring to move a body, the tip of its arrow to change its velocity.
"use strict";
saltus.Handles = class {
  // `dropped` is called with the changed key and its numbers.
  constructor(player, starts, dropped) {
    Object.assign(this, { player, space: player.space, starts, dropped });
    this.part = this.space?.parts.find((one) => one.thing && ["masses", "bodies"].includes(one.thing.what));
    if (!this.part || !starts.length || starts.length > this.part.count) return;
    this.near = player.data.scene.follows ? 9 * player.data.scene.follow : 2 / this.space.scale;
    this.offset = 0.05 * this.near;
    const fastest = Math.max(...starts.map((one) => Math.hypot(...one.velocity.value))), { clock } = player;
    this.perSpeed = 0.2 * this.near / (fastest || this.near / Math.max(clock.stop - clock.start, 1e-9));
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.root = saltus.element("div", { class: "handles" }, this.svg, saltus.element("p", { class: "hint" }, "Drag a ring to move a start, the tip of an arrow to change its velocity."));
    this.ends = starts.map((start, index) => ({
      line: this.svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "line")),
      place: this.handle("place", index, start.position.key), tip: this.handle("tip", index, start.velocity.key),
    }));
    this.space.parent.append(this.root);
    const before = player.onView;
    player.onView = () => { before?.(); this.show(); };
    this.show();
  }
  handle(what, index, key) {
    const made = saltus.element("button", { type: "button", class: `handle ${what}`, title: `drag: ${key}`, "aria-label": `drag ${key}`, "data-drag": key });
    made.style.setProperty("--ink", this.player.ink(this.part.thing.inks[index] ?? 0));
    made.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      made.setPointerCapture(event.pointerId);
      this.held = { what, index };
    });
    made.addEventListener("pointermove", (event) => { if (this.held) this.move(event); });
    made.addEventListener("pointerup", () => this.drop());
    made.addEventListener("pointercancel", () => { this.held = null; this.moved = null; this.show(); });
    this.root.append(made);
    return made;
  }
  // In metres from the origin of the scene.
  placeOf(index) {
    if (this.moved?.what === "place" && this.moved.index === index) return this.moved.at;
    return Array.from(this.part.track.values.slice(3 * index, 3 * index + 3));
  }
  tipOf(index) {
    const from = this.placeOf(index);
    if (this.moved?.what === "tip" && this.moved.index === index) return this.moved.at;
    const velocity = [...this.starts[index].velocity.value, 0, 0].slice(0, 3), speed = Math.hypot(...velocity);
    const length = this.offset + this.perSpeed * speed;
    return from.map((x, axis) => x + length * (speed > 0 ? velocity[axis] / speed : axis === 0 ? 1 : 0));
  }
  onScreen(at) {
    const seen = this.space.point(at, 0, new THREE.Vector3()).project(this.space.camera), { clientWidth, clientHeight } = this.space.parent;
    return [(seen.x + 1) / 2 * clientWidth, (1 - seen.y) / 2 * clientHeight];
  }
  show() {
    const { clock } = this.player;
    this.root.classList.toggle("shown", clock.t === clock.start && !clock.playing);
    this.ends.forEach(({ line, place, tip }, index) => {
      const [[x0, y0], [x1, y1]] = [this.onScreen(this.placeOf(index)), this.onScreen(this.tipOf(index))];
      place.style.transform = `translate(${x0}px, ${y0}px)`;
      tip.style.transform = `translate(${x1}px, ${y1}px)`;
      for (const [name, value] of Object.entries({ x1: x0, y1: y0, x2: x1, y2: y1 })) line.setAttribute(name, value);
      line.style.stroke = place.style.getPropertyValue("--ink");
    });
  }
  // The line of sight through the pointer, in units of the view.
  sight(event) {
    const box = this.space.parent.getBoundingClientRect(), { camera } = this.space;
    const far = new THREE.Vector3((event.clientX - box.left) / box.width * 2 - 1, 1 - (event.clientY - box.top) / box.height * 2, 0.5).unproject(camera);
    return { from: camera.position.clone(), way: far.sub(camera.position).normalize() };
  }
  move(event) {
    const { what, index } = this.held, start = this.starts[index], parts = (what === "place" ? start.position : start.velocity).value.length;
    const { from, way } = this.sight(event), through = this.space.point(this.placeOf(index), 0, new THREE.Vector3());
    // Two numbers lie on the ground or in a level plane; three in the plane that faces the viewer; one along x.
    const ground = what === "place" && parts === 2 && this.space.parts.find((one) => one.pz);
    let hit = ground ? saltus.meet(ground.mesh.geometry, from, way) : null;
    if (!hit) {
      const normal = parts === 2 ? new THREE.Vector3(0, 0, 1) : parts === 3 ? way.clone() : new THREE.Vector3(0, way.y, way.z).normalize();
      const slope = way.dot(normal);
      if (Math.abs(slope) < 0.02) return;
      hit = from.clone().addScaledVector(way, through.clone().sub(from).dot(normal) / slope);
    }
    const { scale, heights, middle } = this.space, before = this.placeOf(index);
    const at = [hit.x / scale + middle[0], hit.y / scale + middle[1], hit.z / (scale * heights) + middle[2]];
    if (parts === 2 && !ground) at[2] = before[2];
    if (parts === 1) at.splice(1, 2, before[1], before[2]);
    this.moved = { what, index, at };
    this.show();
  }
  drop() {
    const { moved } = this;
    this.held = null;
    if (!moved) return;
    const start = this.starts[moved.index], tidy = (x) => Number(x.toPrecision(5));
    if (moved.what === "place") {
      const { key, value } = start.position, { origin } = this.player.data.scene;
      return this.dropped(key, moved.at.slice(0, value.length).map((x, axis) => tidy(x + origin[axis])));
    }
    const { key, value } = start.velocity, from = this.placeOf(moved.index), way = moved.at.map((x, axis) => x - from[axis]), length = Math.hypot(...way);
    const speed = Math.max(length - this.offset, 0) / this.perSpeed;
    return this.dropped(key, way.slice(0, value.length).map((x) => tidy(x / (length || 1) * speed)));
  }
};

// Where a line first meets a mesh; null where it does not (Möller and Trumbore 1997).
saltus.meet = function (geometry, from, way) {
  const place = geometry.getAttribute("position"), index = geometry.getIndex().array, corners = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
  const across = new THREE.Vector3(), along = new THREE.Vector3();
  let nearest = Infinity;
  for (let k = 0; k < index.length; k += 3) {
    corners.forEach((corner, c) => corner.fromBufferAttribute(place, index[k + c]));
    const [first, ...edges] = corners;
    for (const edge of edges) edge.sub(first);
    across.crossVectors(way, edges[1]);
    const size = edges[0].dot(across);
    if (Math.abs(size) < 1e-14) continue;
    first.subVectors(from, first);
    const u = first.dot(across) / size;
    along.crossVectors(first, edges[0]);
    const v = way.dot(along) / size, far = edges[1].dot(along) / size;
    if (u >= 0 && v >= 0 && u + v <= 1 && far > 1e-9 && far < nearest) nearest = far;
  }
  return Number.isFinite(nearest) ? from.clone().addScaledVector(way, nearest) : null;
};
