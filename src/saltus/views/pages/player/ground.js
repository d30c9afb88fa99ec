// Ground, sheets, boxes, tables, rails and plates: what stands still or turns as a whole.
"use strict";
saltus.things = {};

saltus.things.ground = class {
  constructor(space, thing) {
    this.space = space;
    this.root = new THREE.Group();
    const [x, y, z] = ["x", "y", "z"].map((name) => saltus.unpack(thing[name]));
    Object.assign(this, { px: x.values, py: y.values, pz: z.values, rows: z.shape[0], columns: z.shape[1] });
    this.low = Infinity; this.high = -Infinity;
    for (const value of this.pz) if (Number.isFinite(value)) { this.low = Math.min(this.low, value); this.high = Math.max(this.high, value); }
    this.mesh = new THREE.Mesh(this.geometry(), new THREE.MeshStandardMaterial({ vertexColors: true, side: THREE.DoubleSide, roughness: 0.95, metalness: 0, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }));
    this.lines = new THREE.LineSegments(this.contours(), new THREE.LineBasicMaterial({ transparent: true, opacity: 0.55 }));
    this.root.add(this.mesh, this.lines);
  }
  geometry() {
    const { space, rows, columns, px, py, pz } = this, n = rows * columns, places = new Float32Array(3 * n), index = [];
    for (let k = 0; k < n; k++) places.set([space.x(px[k]), space.y(py[k]), Number.isFinite(pz[k]) ? space.z(pz[k]) : 0], 3 * k);
    const known = (k) => Number.isFinite(pz[k]);
    for (let row = 0; row < rows - 1; row++) for (let column = 0; column < columns - 1; column++) {
      const a = row * columns + column, b = a + 1, c = a + columns, d = c + 1;
      // The cell is cut along the diagonal that keeps its triangles on the surface.
      if (known(a) && known(b) && known(c) && known(d)) index.push(a, b, d, a, d, c);
      else for (const [p, q, r] of [[a, b, d], [a, d, c], [a, b, c], [b, d, c]]) if (known(p) && known(q) && known(r)) { index.push(p, q, r); break; }
    }
    const made = new THREE.BufferGeometry();
    made.setAttribute("position", new THREE.BufferAttribute(places, 3));
    made.setAttribute("color", new THREE.BufferAttribute(new Float32Array(3 * n), 3));
    made.setIndex(index);
    made.computeVertexNormals();
    return made;
  }
  // Lines of equal height by marching over the triangles of the cells.
  contours() {
    const { space, rows, columns, px, py, pz } = this, made = new THREE.BufferGeometry(), ends = [];
    if (this.high - this.low > 1e-9 * Math.max(Math.abs(this.high), 1e-9)) {
      for (const level of saltus.ticks(this.low, this.high, 14)) for (let row = 0; row < rows - 1; row++) for (let column = 0; column < columns - 1; column++) {
        const a = row * columns + column, b = a + 1, c = a + columns, d = c + 1;
        for (const corners of [[a, b, d], [a, d, c]]) {
          const cut = [];
          for (let k = 0; k < 3; k++) {
            const p = corners[k], q = corners[(k + 1) % 3], zp = pz[p] - level, zq = pz[q] - level;
            if (!(zp * zq < 0)) continue;
            const share = zp / (zp - zq);
            cut.push([space.x(px[p] + share * (px[q] - px[p])), space.y(py[p] + share * (py[q] - py[p])), space.z(level) + 0.0012]);
          }
          if (cut.length === 2) ends.push(...cut[0], ...cut[1]);
        }
      }
    }
    made.setAttribute("position", new THREE.BufferAttribute(new Float32Array(ends), 3));
    return made;
  }
  theme() {
    const player = this.space.player, deep = new THREE.Color(player.colour("--ground-low")), high = new THREE.Color(player.colour("--ground-high"));
    const colours = this.mesh.geometry.getAttribute("color"), mixed = new THREE.Color(), span = this.high - this.low || 1;
    for (let k = 0; k < this.pz.length; k++) {
      mixed.copy(deep).lerp(high, Number.isFinite(this.pz[k]) ? (this.pz[k] - this.low) / span : 0);
      colours.setXYZ(k, mixed.r, mixed.g, mixed.b);
    }
    colours.needsUpdate = true;
    this.lines.material.color.set(player.colour("--contour"));
  }
  // The upward normal of the drawn surface under a point.
  normal(x, y, target) {
    const { rows, columns, px, py, pz, space } = this, last = rows * columns - 1;
    const column = Math.min(Math.max(Math.round((x - px[0]) / (px[last] - px[0]) * (columns - 1)), 1), columns - 2);
    const row = Math.min(Math.max(Math.round((y - py[0]) / (py[last] - py[0]) * (rows - 1)), 1), rows - 2), k = row * columns + column;
    const sx = (pz[k + 1] - pz[k - 1]) / (px[k + 1] - px[k - 1]), sy = (pz[k + columns] - pz[k - columns]) / (py[k + columns] - py[k - columns]);
    if (!Number.isFinite(sx) || !Number.isFinite(sy)) return target.set(0, 0, 1);
    return target.set(-sx * space.heights, -sy * space.heights, 1).normalize();
  }
};

// A flat piece of plane with a grid on it: floors, walls, the table of a ball.
saltus.things.sheet = class {
  constructor(space, thing) {
    this.space = space;
    this.root = new THREE.Group();
    const corner = new THREE.Vector3(space.x(thing.corner[0]), space.y(thing.corner[1]), space.z(thing.corner[2]));
    const along = new THREE.Vector3(...thing.along).multiplyScalar(space.scale), across = new THREE.Vector3(...thing.across).multiplyScalar(space.scale);
    const points = [corner, corner.clone().add(along), corner.clone().add(along).add(across), corner.clone().add(across)];
    const made = new THREE.BufferGeometry();
    made.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points.flatMap((one) => one.toArray())), 3));
    made.setIndex([0, 1, 2, 0, 2, 3]);
    made.computeVertexNormals();
    const level = Math.abs(new THREE.Vector3().crossVectors(along, across).normalize().z) > 0.9;
    this.mesh = new THREE.Mesh(made, new THREE.MeshStandardMaterial({ side: THREE.DoubleSide, roughness: 1, transparent: true, opacity: level ? 0.96 : 0.35, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2, depthWrite: level }));
    this.lines = new THREE.LineSegments(this.grid(corner, along, across), new THREE.LineBasicMaterial({ transparent: true, opacity: 0.5 }));
    this.root.add(this.mesh, this.lines);
  }
  grid(corner, along, across) {
    const metres = Math.max(along.length(), across.length()) / this.space.scale, step = saltus.niceStep(metres, this.space.data.follows ? Math.min(metres / (2.5 * this.space.data.follow), 200) : 10) * this.space.scale, ends = [];
    for (const [first, second] of [[along, across], [across, along]]) {
      const count = Math.floor(first.length() / step + 1e-6);
      for (let k = 0; k <= count; k++) {
        const from = corner.clone().add(first.clone().setLength(Math.max(k * step, 1e-9)));
        ends.push(...from.toArray(), ...from.add(second).toArray());
      }
    }
    const made = new THREE.BufferGeometry();
    made.setAttribute("position", new THREE.BufferAttribute(new Float32Array(ends), 3));
    return made;
  }
  theme() {
    this.mesh.material.color.set(this.space.player.colour("--ground-high"));
    this.lines.material.color.set(this.space.player.colour("--contour"));
  }
};

// A box to be in: its edges, and its floor.
saltus.things.box = class {
  constructor(space, thing) {
    this.space = space;
    this.root = new THREE.Group();
    const { low, high } = thing, size = [0, 1, 2].map((axis) => (high[axis] - low[axis]) * space.scale);
    const body = new THREE.BoxGeometry(...size);
    this.edges = new THREE.LineSegments(new THREE.EdgesGeometry(body), new THREE.LineBasicMaterial());
    this.floor = new THREE.Mesh(new THREE.BoxGeometry(size[0], size[1], 0.002), new THREE.MeshStandardMaterial({ roughness: 1, transparent: true, opacity: thing.periodic ? 0.25 : 0.9 }));
    this.floor.position.z = -size[2] / 2 - 0.0012;
    this.root.add(this.edges, this.floor);
    this.root.position.set(...[space.x((low[0] + high[0]) / 2), space.y((low[1] + high[1]) / 2), space.z((low[2] + high[2]) / 2)]);
  }
  theme() {
    this.edges.material.color.set(this.space.player.colour("--contour"));
    this.floor.material.color.set(this.space.player.colour("--ground-high"));
  }
};

// A solid block, such as a table top.
saltus.things.block = class {
  constructor(space, thing) {
    this.space = space;
    const { low, high } = thing, size = [0, 1, 2].map((axis) => (high[axis] - low[axis]) * space.scale);
    const made = new THREE.BoxGeometry(...size);
    this.root = new THREE.Group();
    this.mesh = new THREE.Mesh(made, new THREE.MeshStandardMaterial({ roughness: 0.9 }));
    this.edges = new THREE.LineSegments(new THREE.EdgesGeometry(made), new THREE.LineBasicMaterial());
    this.root.add(this.mesh, this.edges);
    this.root.position.set(space.x((low[0] + high[0]) / 2), space.y((low[1] + high[1]) / 2), space.z((low[2] + high[2]) / 2));
  }
  theme() {
    this.mesh.material.color.set(this.space.player.colour("--wood"));
    this.edges.material.color.set(this.space.player.colour("--contour"));
  }
};

// A round bar between two points.
saltus.things.bar = class {
  constructor(space, thing) {
    this.space = space;
    const [first, last] = thing.ends.map((one) => new THREE.Vector3(space.x(one[0]), space.y(one[1]), space.z(one[2])));
    this.root = new THREE.Mesh(new THREE.CylinderGeometry(thing.radius * space.scale, thing.radius * space.scale, 1, 24), new THREE.MeshStandardMaterial({ roughness: 0.45, metalness: 0.3 }));
    saltus.stretchBetween(this.root, first, last);
  }
  theme() { this.root.material.color.set(this.space.player.colour("--steel")); }
};

saltus.stretchBetween = function (object, first, last) {
  const way = new THREE.Vector3().subVectors(last, first), length = way.length();
  object.position.copy(first).addScaledVector(way, 0.5);
  object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), length > 0 ? way.divideScalar(length) : new THREE.Vector3(0, 1, 0));
  object.scale.set(1, Math.max(length, 1e-9), 1);
};

// Two plates of one outline that turn together about the y axis.
saltus.things.plates = class {
  constructor(space, thing) {
    this.space = space; this.thing = thing;
    this.angle = saltus.unpack(thing.angle).values;
    const outline = saltus.unpack(thing.outline).values, shape = new THREE.Shape();
    for (let k = 0; k < outline.length; k += 2) shape[k ? "lineTo" : "moveTo"](outline[k] * space.scale, outline[k + 1] * space.scale);
    this.root = new THREE.Group();
    this.root.position.set(space.x(0), space.y(0), space.z(0));
    this.materials = [];
    for (const at of thing.at) {
      const made = new THREE.ExtrudeGeometry(shape, { depth: thing.thickness * space.scale, bevelEnabled: false });
      made.rotateX(Math.PI / 2);
      made.translate(0, (at + thing.thickness) * space.scale, 0);
      const material = new THREE.MeshStandardMaterial({ roughness: 0.7, transparent: true, opacity: at < 0 ? 0.4 : 0.85, side: THREE.DoubleSide });
      const edges = new THREE.LineSegments(new THREE.EdgesGeometry(made, 40), new THREE.LineBasicMaterial());
      this.materials.push([material, edges.material]);
      this.root.add(new THREE.Mesh(made, material), edges);
    }
  }
  theme() {
    for (const [face, edge] of this.materials) { face.color.set(this.space.player.colour("--ground-high")); edge.color.set(this.space.player.colour("--contour")); }
  }
  show(i, j, f) {
    const angle = this.angle[i] + (f > 0 ? f * (this.angle[j] - this.angle[i]) : 0);
    this.root.rotation.set(0, -this.thing.sense * angle, 0);
  }
};
