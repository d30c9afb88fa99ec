// The three-dimensional view: camera, lights, and the things of a scene.
"use strict";
saltus.Space = class {
  constructor(parent, data, times, clock, player) {
    Object.assign(this, { parent, data, times, clock, player, parts: [], byName: {}, arrows: [] });
    this.heights = data.heights;
    this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.domElement.setAttribute("role", "img");
    this.renderer.domElement.setAttribute("aria-label", "the motion in space; drag to turn, pinch or use the wheel to zoom");
    parent.append(this.renderer.domElement);
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(32, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    this.controls = new THREE.OrbitControls(this.camera, this.renderer.domElement);
    this.controls.enableDamping = false;
    this.controls.addEventListener("change", () => this.render());
    this.overlay = saltus.element("div", { class: "overlay" });
    parent.append(this.overlay);
    this.measure();
    this.light();
    this.build();
    this.look(...data.view);
  }
  // From metres to units of the view, in which the scene has the diagonal 2.
  measure() {
    const { low, high } = this.data, k = this.heights;
    const size = Math.hypot(high[0] - low[0], high[1] - low[1], k * (high[2] - low[2])) || 1;
    this.scale = 2 / size;
    // Arrows and points are as large as suits the distance from which they are first seen.
    this.unit = this.data.follows ? Math.min(1, 5.2 * this.data.follow * this.scale) : 1;
    this.middle = [0, 1, 2].map((axis) => (low[axis] + high[axis]) / 2);
  }
  x(value) { return (value - this.middle[0]) * this.scale; }
  y(value) { return (value - this.middle[1]) * this.scale; }
  z(value) { return (value - this.middle[2]) * this.scale * this.heights; }
  point(values, at, target) {
    return target.set(this.x(values[at]), this.y(values[at + 1]), this.z(values[at + 2]));
  }
  light() {
    this.scene.add(new THREE.AmbientLight(0xffffff, 1.0));
    const sun = new THREE.DirectionalLight(0xffffff, 2.5), fill = new THREE.DirectionalLight(0xffffff, 0.5);
    sun.position.set(-1.2, -0.6, 2.2);
    fill.position.set(1.5, 1.5, 0.6);
    this.scene.add(sun, fill);
  }
  build() {
    for (const part of this.parts) { this.scene.remove(part.root); part.root.traverse((one) => { one.geometry?.dispose(); one.material?.dispose?.(); }); }
    this.parts = [];
    this.byName = {};
    const order = ["ground", "sheet", "block", "box", "bar", "plates", "masses", "bodies", "path", "rods", "contacts", "arrows"];
    const things = [...this.data.things].sort((a, b) => order.indexOf(a.what) - order.indexOf(b.what));
    for (const thing of things) {
      const part = new saltus.things[thing.what](this, thing);
      if (thing.name) this.byName[thing.name] = part;
      this.parts.push(part);
      this.scene.add(part.root);
      if (thing.what === "arrows") part.root.visible = this.shownArrows ? this.shownArrows.has(thing.name) : thing.shown;
    }
  }
  look(azimuth, elevation) {
    const a = azimuth * Math.PI / 180, e = elevation * Math.PI / 180;
    this.direction = [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), Math.sin(e)];
    if (this.following) this.follow(true); else this.fit();
  }
  // The nearest distance from which all corners of the scene are seen.
  fit() {
    const towards = new THREE.Vector3(...this.direction), half = this.camera.fov * Math.PI / 360;
    const right = new THREE.Vector3().crossVectors(this.camera.up, towards).normalize(), up = new THREE.Vector3().crossVectors(towards, right);
    let distance = 0.5;
    const corner = new THREE.Vector3(), { low, high } = this.data;
    for (let k = 0; k < 8; k++) {
      corner.set(this.x(k & 1 ? high[0] : low[0]), this.y(k & 2 ? high[1] : low[1]), this.z(k & 4 ? high[2] : low[2]));
      const near = corner.dot(towards), tall = Math.abs(corner.dot(up)) / Math.tan(half), wide = Math.abs(corner.dot(right)) / (Math.tan(half) * this.camera.aspect);
      distance = Math.max(distance, near + 1.06 * Math.max(tall, wide));
    }
    this.controls.target.set(0, 0, 0);
    this.camera.position.copy(towards.multiplyScalar(distance));
    this.controls.update();
    this.render();
  }
  // Let the camera stay with what moves, near to it.
  follow(on) {
    this.following = on;
    if (!on) return this.fit();
    const place = this.centre(), distance = 15 * this.data.follow * this.scale;
    this.controls.target.copy(place);
    this.camera.position.copy(place).addScaledVector(new THREE.Vector3(...this.direction), distance);
    this.controls.update();
    this.render();
  }
  keepUp() {
    const place = this.centre();
    this.camera.position.add(place).sub(this.controls.target);
    this.controls.target.copy(place);
    this.controls.update();
  }
  // The middle of all that moves.
  centre() {
    const { now } = this.parts.find((part) => part.now), mean = [0, 0, 0];
    let count = 0;
    for (let k = 0; k < now.length; k += 3) if (Number.isFinite(now[k])) { count++; for (let axis = 0; axis < 3; axis++) mean[axis] += now[k + axis]; }
    return this.point(mean.map((sum) => sum / Math.max(count, 1)), 0, new THREE.Vector3());
  }
  resize() {
    const width = this.parent.clientWidth, height = this.parent.clientHeight;
    if (!width || !height) return;
    const before = this.camera.aspect;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    for (const part of this.parts) part.resize?.(width, height);
    if (Math.abs(before - this.camera.aspect) > 0.02 && !this.following) this.fit();
    // A canvas of a new size is empty: it is drawn before it can be seen.
    this.draw();
  }
  theme() { for (const part of this.parts) part.theme?.(); this.render(); }
  stretch(heights) {
    this.heights = heights;
    this.shownArrows = new Set(this.parts.filter((part) => part.thing?.what === "arrows" && part.root.visible).map((part) => part.thing.name));
    this.measure();
    this.build();
    this.theme();
    this.resize();
    this.fit();
    this.show();
  }
  // Draw the time of the clock.
  show() {
    const where = saltus.locate(this.times, this.clock.t, this.clock.side);
    for (const part of this.parts) part.show?.(...where);
    if (this.following) this.keepUp();
    this.render();
  }
  render() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }
  draw() {
    this.reach();
    this.renderer.render(this.scene, this.camera);
    this.player.onView?.();
  }
  // What is near is not cut off, however small it is in the scene; what would be too small to see is marked.
  reach() {
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.camera.near = Math.min(0.01, 0.05 * distance);
    this.camera.updateProjectionMatrix();
    for (const part of this.parts) part.mark?.(this.pixelsPerMetre() / this.scale);
  }
  // Pixels on the screen for one metre near the middle of the scene.
  pixelsPerMetre() {
    const distance = this.camera.position.distanceTo(this.controls.target);
    return this.scale * this.parent.clientHeight / (2 * distance * Math.tan(this.camera.fov * Math.PI / 360));
  }
};

// Rows of a packed array, read between two of them.
saltus.Track = class {
  constructor(packed) {
    const { values, shape } = saltus.unpack(packed);
    Object.assign(this, { values, count: shape.length > 1 ? shape[1] : 1, parts: shape.length > 2 ? shape[2] : 1 });
    this.width = this.count * this.parts;
    this.now = new Float32Array(this.width);
  }
  at(i, j, f) {
    const a = i * this.width, b = j * this.width;
    for (let k = 0; k < this.width; k++) {
      const from = this.values[a + k];
      this.now[k] = f > 0 ? from + f * (this.values[b + k] - from) : from;
    }
    return this.now;
  }
  // Unit quaternions (w, x, y, z): the shorter way round, made unit again.
  turned(i, j, f) {
    const a = i * this.width, b = j * this.width, v = this.values;
    for (let k = 0; k < this.width; k += 4) {
      const dot = v[a + k] * v[b + k] + v[a + k + 1] * v[b + k + 1] + v[a + k + 2] * v[b + k + 2] + v[a + k + 3] * v[b + k + 3];
      let size = 0;
      for (let part = 0; part < 4; part++) {
        this.now[k + part] = (1 - f) * v[a + k + part] + f * (dot < 0 ? -1 : 1) * v[b + k + part];
        size += this.now[k + part] ** 2;
      }
      for (let part = 0; part < 4; part++) this.now[k + part] /= Math.sqrt(size) || 1;
    }
    return this.now;
  }
};
