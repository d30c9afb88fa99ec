// What moves: masses, bodies, rods, chains, contacts and arrows.
"use strict";

// Paths as lines two pixels wide: the whole one faint, the part so far strong.
saltus.Trail = class {
  constructor(space, places, rows, ink) {
    Object.assign(this, { space, ink });
    this.root = new THREE.Group();
    const segments = [];
    for (let row = 0; row + 1 < rows; row++) segments.push(...places.slice(3 * row, 3 * row + 6));
    const line = (width, opacity) => {
      const geometry = new THREE.LineSegmentsGeometry();
      geometry.setPositions(segments.length ? segments : [0, 0, 0, 0, 0, 0]);
      return new THREE.LineSegments2(geometry, new THREE.LineMaterial({ linewidth: width, transparent: true, opacity, depthWrite: false }));
    };
    this.whole = line(1, 0.3);
    this.past = line(2.2, 0.95);
    this.root.add(this.whole, this.past);
  }
  show(i) { this.past.geometry.instanceCount = i; this.past.visible = i > 0; }
  theme() { for (const one of [this.whole, this.past]) one.material.color.set(this.space.player.ink(this.ink)); }
  resize(width, height) { for (const one of [this.whole, this.past]) one.material.resolution.set(width, height); }
};

// Point masses: small balls that stand on the ground where there is one.
saltus.things.masses = class {
  constructor(space, thing) {
    Object.assign(this, { space, thing });
    this.track = new saltus.Track(thing.position);
    this.count = this.track.count;
    this.radius = thing.radius * 2;
    this.places = Array.from({ length: this.count }, () => new THREE.Vector3());
    this.mesh = new THREE.InstancedMesh(new THREE.SphereGeometry(this.radius, 20, 14), new THREE.MeshStandardMaterial({ roughness: 0.45 }), this.count);
    this.mesh.frustumCulled = false;
    this.root = new THREE.Group();
    this.root.add(this.mesh);
    this.ground = thing.on_ground ? space.parts.find((part) => part.pz) : null;
    this.trails = thing.trail ? thing.inks.map((ink, mass) => this.trail(ink, mass)) : [];
    for (const trail of this.trails) this.root.add(trail.root);
  }
  trail(ink, mass) {
    const { values, count, width } = this.track, rows = values.length / width, places = new Float32Array(3 * rows), at = new THREE.Vector3();
    for (let row = 0; row < rows; row++) places.set(this.placed(values, row * width + 3 * mass, at).toArray(), 3 * row);
    return new saltus.Trail(this.space, places, rows, ink);
  }
  placed(values, at, target) {
    this.space.point(values, at, target);
    if (this.ground) target.addScaledVector(this.ground.normal(values[at], values[at + 1], saltus.things.masses.up), this.radius);
    return target;
  }
  show(i, j, f) {
    const now = this.track.at(i, j, f), matrix = new THREE.Matrix4();
    this.now = now;
    for (let mass = 0; mass < this.count; mass++) {
      this.placed(now, 3 * mass, this.places[mass]);
      matrix.makeTranslation(this.places[mass]);
      if (!Number.isFinite(now[3 * mass])) matrix.makeScale(0, 0, 0);
      this.mesh.setMatrixAt(mass, matrix);
    }
    this.mesh.instanceMatrix.needsUpdate = true;
    for (const trail of this.trails) trail.show(i);
  }
  theme() {
    this.thing.inks.forEach((ink, mass) => this.mesh.setColorAt(mass, new THREE.Color(this.space.player.ink(ink))));
    this.mesh.instanceColor.needsUpdate = true;
    for (const trail of this.trails) trail.theme();
  }
  resize(width, height) { for (const trail of this.trails) trail.resize(width, height); }
};
saltus.things.masses.up = new THREE.Vector3();

// Rigid bodies |x/a|^p + |y/b|^q + |z/c|^r = 1, with dark and light octants that show their turning.
saltus.things.bodies = class {
  constructor(space, thing) {
    Object.assign(this, { space, thing });
    this.track = new saltus.Track(thing.position);
    this.turning = new saltus.Track(thing.quaternion);
    this.count = this.track.count;
    this.root = new THREE.Group();
    this.meshes = thing.shapes.map((shape, number) => {
      const members = thing.which.flatMap((which, body) => which === number ? [body] : []);
      const material = new THREE.MeshStandardMaterial({ roughness: 0.5, vertexColors: true, transparent: thing.clear, opacity: thing.clear ? 0.8 : 1, side: shape.pieces ? THREE.DoubleSide : 0 });
      const mesh = new THREE.InstancedMesh(shape.pieces ? saltus.patched(shape.pieces, space.scale) : saltus.superellipsoid(shape, space.scale, this.count > 60 ? 14 : 40), material, members.length);
      mesh.frustumCulled = false;
      this.root.add(mesh);
      return { mesh, members };
    });
    this.trails = thing.trail ? thing.inks.map((ink, body) => this.trail(ink, body)) : [];
    for (const trail of this.trails) this.root.add(trail.root);
    if (space.data.follow && this.count === 1) {
      this.marker = new THREE.Mesh(new THREE.SphereGeometry(1, 20, 14), new THREE.MeshStandardMaterial({ roughness: 0.5 }));
      this.root.add(this.marker);
    }
  }
  // A ball of a few pixels in the place of a body that is smaller than that on the screen.
  mark(pixels) {
    if (!this.marker || !this.now) return;
    const radius = 5 / pixels;
    this.marker.visible = this.space.data.follow * this.space.scale < radius;
    this.marker.scale.setScalar(radius);
    this.space.point(this.now, 0, this.marker.position);
  }
  trail(ink, body) {
    const { values, width } = this.track, rows = values.length / width, places = new Float32Array(3 * rows), at = new THREE.Vector3();
    for (let row = 0; row < rows; row++) places.set(this.space.point(values, row * width + 3 * body, at).toArray(), 3 * row);
    return new saltus.Trail(this.space, places, rows, ink);
  }
  show(i, j, f) {
    const place = this.track.at(i, j, f), turned = this.turning.turned(i, j, f), period = this.thing.period || [];
    this.now = place;
    if (period.length) for (let k = 0; k < place.length; k++) place[k] -= period[k % 3] * Math.round(place[k] / period[k % 3]);
    const at = new THREE.Vector3(), rotation = new THREE.Quaternion(), one = new THREE.Vector3(1, 1, 1), matrix = new THREE.Matrix4();
    for (const { mesh, members } of this.meshes) {
      members.forEach((body, index) => {
        this.space.point(place, 3 * body, at);
        rotation.set(turned[4 * body + 1], turned[4 * body + 2], turned[4 * body + 3], turned[4 * body]);
        mesh.setMatrixAt(index, matrix.compose(at, rotation, one));
      });
      mesh.instanceMatrix.needsUpdate = true;
    }
    for (const trail of this.trails) trail.show(i);
  }
  theme() {
    for (const { mesh, members } of this.meshes) {
      members.forEach((body, index) => mesh.setColorAt(index, new THREE.Color(this.space.player.ink(this.thing.inks[body]))));
      mesh.instanceColor.needsUpdate = true;
    }
    this.marker?.material.color.set(this.space.player.ink(this.thing.inks[0]));
    for (const trail of this.trails) trail.theme();
  }
  resize(width, height) { for (const trail of this.trails) trail.resize(width, height); }
};

saltus.superellipsoid = function ({ axes, exponents }, scale, fine) {
  const rings = Math.round(fine * 0.75), sectors = fine, places = [], normals = [], colours = [], index = [];
  const size = (ray) => {
    if (exponents.every((p) => p === 2)) return 1;
    let low = 0, high = 2;
    for (let k = 0; k < 40; k++) {
      const middle = (low + high) / 2;
      if (ray.reduce((sum, x, axis) => sum + Math.abs(middle * x) ** exponents[axis], 0) < 1) low = middle; else high = middle;
    }
    return low;
  };
  // Each eighth has vertices of its own, so that its shade ends sharply.
  for (let sx = 0; sx < 2; sx++) for (let sy = 0; sy < 2; sy++) for (let sz = 0; sz < 2; sz++) {
    const first = places.length / 3, shade = (sx + sy + sz) % 2 ? 1 : 0.62, n = Math.max(4, sectors >> 2), m = Math.max(4, rings >> 1), sign = [sx ? -1 : 1, sy ? -1 : 1, sz ? -1 : 1];
    for (let ring = 0; ring <= m; ring++) for (let sector = 0; sector <= n; sector++) {
      const polar = ring / m * Math.PI / 2, around = sector / n * Math.PI / 2;
      const ray = [Math.sin(polar) * Math.cos(around), Math.sin(polar) * Math.sin(around), Math.cos(polar)], r = size(ray);
      places.push(...ray.map((x, axis) => sign[axis] * r * x * axes[axis] * scale));
      const slope = ray.map((x, axis) => sign[axis] * exponents[axis] * (r * x) ** (exponents[axis] - 1) / axes[axis]), long = Math.hypot(...slope) || 1;
      normals.push(...slope.map((x) => x / long));
      colours.push(shade, shade, shade);
    }
    const flip = (sx + sy + sz) % 2;
    for (let ring = 0; ring < m; ring++) for (let sector = 0; sector < n; sector++) {
      const a = first + ring * (n + 1) + sector, b = a + 1, c = a + n + 1, d = c + 1;
      if (flip) index.push(a, b, c, b, d, c); else index.push(a, c, b, b, c, d);
    }
  }
  const made = new THREE.BufferGeometry();
  made.setAttribute("position", new THREE.BufferAttribute(new Float32Array(places), 3));
  made.setAttribute("normal", new THREE.BufferAttribute(new Float32Array(normals), 3));
  made.setAttribute("color", new THREE.BufferAttribute(new Float32Array(colours), 3));
  made.setIndex(index);
  return made;
};

// A body of pieces, each a grid of points of its surface; alternating fields show its turning.
saltus.patched = function (pieces, scale) {
  const places = [], colours = [], index = [];
  for (const packed of pieces) {
    const { values, shape: [rows, columns] } = saltus.unpack(packed), [tall, wide] = [rows - 1, columns - 1];
    for (let row = 0; row < tall; row++) for (let column = 0; column < wide; column++) {
      const first = places.length / 3, shade = (Math.floor(2 * row / tall) + Math.floor(4 * column / wide)) % 2 ? 1 : 0.62;
      for (const [r, c] of [[row, column], [row, column + 1], [row + 1, column], [row + 1, column + 1]]) {
        const at = 3 * (r * columns + c);
        places.push(values[at] * scale, values[at + 1] * scale, values[at + 2] * scale);
        colours.push(shade, shade, shade);
      }
      index.push(first, first + 2, first + 1, first + 1, first + 2, first + 3);
    }
  }
  const made = new THREE.BufferGeometry();
  made.setAttribute("position", new THREE.BufferAttribute(new Float32Array(places), 3));
  made.setAttribute("color", new THREE.BufferAttribute(new Float32Array(colours), 3));
  made.setIndex(index);
  made.computeVertexNormals();
  saltus.smooth(made);
  return made;
};

// One normal where points of neighbouring fields coincide.
saltus.smooth = function (geometry) {
  const place = geometry.getAttribute("position"), normal = geometry.getAttribute("normal"), sums = new Map();
  const key = (k) => [place.getX(k), place.getY(k), place.getZ(k)].map((one) => one.toFixed(5)).join();
  for (let k = 0; k < place.count; k++) {
    const sum = sums.get(key(k)) || [0, 0, 0];
    sums.set(key(k), [sum[0] + normal.getX(k), sum[1] + normal.getY(k), sum[2] + normal.getZ(k)]);
  }
  for (let k = 0; k < place.count; k++) {
    const sum = sums.get(key(k)), long = Math.hypot(...sum) || 1;
    normal.setXYZ(k, sum[0] / long, sum[1] / long, sum[2] / long);
  }
};

// Bars between points, coloured by a force: one colour pulls, another pushes, grey has none.
saltus.Bars = class {
  constructor(space, count, radius) {
    this.space = space;
    this.mesh = new THREE.InstancedMesh(new THREE.CylinderGeometry(radius, radius, 1, 8), new THREE.MeshStandardMaterial({ roughness: 0.6 }), Math.max(count, 1));
    this.mesh.frustumCulled = false;
    this.holder = new THREE.Object3D();
    this.colour = new THREE.Color();
    this.theme();
  }
  theme() {
    const { player } = this.space;
    this.tones = [player.ink(0), player.colour("--neutral"), player.ink(1)].map((one) => new THREE.Color(one));
  }
  set(index, first, last, share) {
    if (first === null) this.holder.scale.set(0, 0, 0); else saltus.stretchBetween(this.holder, first, last);
    this.holder.updateMatrix();
    this.mesh.setMatrixAt(index, this.holder.matrix);
    const known = Number.isFinite(share) ? Math.min(Math.max(share, -1), 1) : 0;
    this.colour.copy(this.tones[1]).lerp(this.tones[known < 0 ? 0 : 2], Math.abs(known) ** 0.6);
    this.mesh.setColorAt(index, this.colour);
  }
  done() { this.mesh.instanceMatrix.needsUpdate = true; if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true; }
};

saltus.things.rods = class {
  constructor(space, thing) {
    Object.assign(this, { space, thing });
    this.value = new saltus.Track(thing.value);
    this.whole = thing.whole ? saltus.unpack(thing.whole).values : null;
    this.bars = new saltus.Bars(space, thing.ends.length, thing.radius * 2);
    this.root = this.bars.mesh;
  }
  show(i, j, f) {
    const force = this.value.at(i, j, f), { places } = this.space.byName[this.thing.masses], n = this.thing.ends.length;
    this.thing.ends.forEach(([first, last], rod) => {
      const broken = this.whole && !this.whole[i * n + rod];
      this.bars.set(rod, broken ? null : places[first], places[last], force[rod] / (this.thing.largest || 1));
    });
    this.bars.done();
  }
  theme() { this.bars.theme(); }
};

// A line of links in space.
saltus.things.path = class {
  constructor(space, thing) {
    Object.assign(this, { space, thing });
    this.points = new saltus.Track(thing.points);
    this.value = new saltus.Track(thing.value);
    this.bars = new saltus.Bars(space, this.points.count - 1, thing.radius * 2);
    this.root = this.bars.mesh;
    this.ends = Array.from({ length: this.points.count }, () => new THREE.Vector3());
  }
  show(i, j, f) {
    const place = this.points.at(i, j, f), force = this.value.at(i, j, f);
    this.ends.forEach((end, k) => this.space.point(place, 3 * k, end));
    for (let k = 0; k + 1 < this.ends.length; k++) this.bars.set(k, this.ends[k], this.ends[k + 1], force[k] / (this.thing.largest || 1));
    this.bars.done();
  }
  theme() { this.bars.theme(); }
};

saltus.things.contacts = class {
  constructor(space, thing) {
    Object.assign(this, { space, thing });
    this.track = new saltus.Track(thing.at);
    this.root = new THREE.InstancedMesh(new THREE.SphereGeometry(Math.max(thing.radius * space.scale, 0.006 * space.unit), 14, 10), new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, opacity: 0.9 }), this.track.count);
    this.root.frustumCulled = false;
    this.root.renderOrder = 5;
  }
  show(i, j, f) {
    const now = this.track.at(i, j, f), matrix = new THREE.Matrix4(), at = new THREE.Vector3();
    for (let k = 0; k < this.track.count; k++) {
      if (Number.isFinite(now[3 * k])) matrix.makeTranslation(this.space.point(now, 3 * k, at)); else matrix.makeScale(0, 0, 0);
      this.root.setMatrixAt(k, matrix);
    }
    this.root.instanceMatrix.needsUpdate = true;
  }
  theme() { this.root.material.color.set(this.space.player.colour("--contact")); }
};

// Vectors, the largest of them about a sixth of the scene long.
saltus.things.arrows = class {
  constructor(space, thing) {
    Object.assign(this, { space, thing });
    this.at = new saltus.Track(thing.at);
    this.vector = new saltus.Track(thing.vector);
    const n = this.at.count, unit = this.unit = space.unit, options = { transparent: true, depthTest: false, opacity: 0.92 };
    this.shafts = new THREE.InstancedMesh(new THREE.CylinderGeometry(0.0055 * unit, 0.0055 * unit, 1, 10), new THREE.MeshBasicMaterial(options), n);
    this.heads = new THREE.InstancedMesh(new THREE.ConeGeometry(0.017 * unit, 0.05 * unit, 14), new THREE.MeshBasicMaterial(options), n);
    this.root = new THREE.Group();
    for (const mesh of [this.shafts, this.heads]) { mesh.frustumCulled = false; mesh.renderOrder = 6; this.root.add(mesh); }
  }
  show(i, j, f) {
    const place = this.at.at(i, j, f), now = this.vector.at(i, j, f), holder = new THREE.Object3D(), from = new THREE.Vector3(), to = new THREE.Vector3(), way = new THREE.Vector3(), { unit } = this;
    for (let k = 0; k < this.at.count; k++) {
      this.space.point(place, 3 * k, from);
      way.set(now[3 * k], now[3 * k + 1], now[3 * k + 2] * this.space.heights).multiplyScalar(0.34 * unit / this.thing.largest);
      const length = Math.min(way.length(), 0.8 * unit);
      if (!(length > 1e-4 * unit)) {
        holder.scale.set(0, 0, 0); holder.updateMatrix();
        this.shafts.setMatrixAt(k, holder.matrix); this.heads.setMatrixAt(k, holder.matrix);
        continue;
      }
      way.setLength(length);
      to.copy(from).addScaledVector(way, Math.max(length - 0.045 * unit, 0.2 * length) / length);
      saltus.stretchBetween(holder, from, to);
      holder.updateMatrix(); this.shafts.setMatrixAt(k, holder.matrix);
      const small = Math.min(1, length / (0.06 * unit));
      holder.position.copy(to).addScaledVector(way.normalize(), 0.025 * unit * small);
      holder.scale.setScalar(small); holder.updateMatrix(); this.heads.setMatrixAt(k, holder.matrix);
    }
    this.shafts.instanceMatrix.needsUpdate = true; this.heads.instanceMatrix.needsUpdate = true;
  }
  theme() { for (const mesh of [this.shafts, this.heads]) mesh.material.color.set(this.space.player.ink(this.thing.ink)); }
};
