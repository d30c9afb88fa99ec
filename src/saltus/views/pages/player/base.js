// What all parts of the player share: arrays, elements, numbers, colours.
"use strict";
const saltus = {};

// Okabe and Ito 2008: distinct for all common kinds of colour vision; as in the figures of saltus.
saltus.INKS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6D00", "#8C8C8C"];
// The same on a dark ground, where blue and brown would be too dark to read.
saltus.DARK_INKS = ["#3D9BDC", "#F0803C", "#1FBF93", "#DD93BC", "#F2B705", "#7CC8F2", "#C9A227", "#A6A6A6"];

saltus.unpack = function (packed) {
  const binary = atob(packed.data), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const kinds = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, i1: Int8Array, i4: Int32Array };
  return { values: new kinds[packed.type](bytes.buffer), shape: packed.shape };
};

saltus.element = function (tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
};

// Icons, drawn here so that they look alike everywhere.
saltus.icon = function (name) {
  const paths = {
    play: "M7 4l13 8-13 8z", pause: "M6 4h4v16H6zM14 4h4v16h-4z",
    next: "M5 5l9 7-9 7zM16 5h3v14h-3z", previous: "M19 5l-9 7 9 7zM8 5H5v14h3z",
    start: "M18 5l-9 7 9 7zM7 5H5v14h2z",
    loop: "M7 7h9v3l5-4-5-4v3H5v6h2zM17 17H8v-3l-5 4 5 4v-3h11v-6h-2z",
    theme: "M12 3a9 9 0 1 0 0 18V3z", fit: "M4 9V4h5v2H6v3zM15 4h5v5h-2V6h-3zM20 15v5h-5v-2h3v-3zM9 20H4v-5h2v3h3z",
    full: "M4 4h7v2H7.4l4 4L10 11.400 6 7.400V11H4zM20 20h-7v-2h3.600l-4-4L14 12.600l4 4V13h2z",
    help: "M11 16h2v2h-2zM12 5a4 4 0 0 0-4 4h2a2 2 0 1 1 3 1.700c-1.200.8-2 1.500-2 3.300h2c0-1 .5-1.400 1.300-2A4 4 0 0 0 12 5z",
  };
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
};

// A number for people: four digits, no needless zeros, powers of ten as such.
saltus.number = function (value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, power] = value.toExponential(digits - 2).split("e");
    const raised = String(Number(power)).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
    return (mantissa.replace(/\.?0+$/, "") + "·10" + raised).replace(/^-/, "−");
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
};

saltus.niceStep = function (span, count) {
  const rough = span / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 5, 10]) if (rough <= factor * power * 1.0001) return factor * power;
  return 10 * power;
};

saltus.ticks = function (low, high, count) {
  const step = saltus.niceStep(high - low, count), found = [];
  if (!(step > 0)) return [low];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
};

// Digits after the point that tell ticks apart.
saltus.tickText = function (value, step) {
  const size = Math.max(Math.abs(value), step);
  if (size >= 1e5 || size < 1e-3) return saltus.number(value, Math.max(5, Math.ceil(Math.log10(size / step)) + 2));
  return value.toFixed(Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)))).replace("-", "−");
};

// The last row at or before a time, the next one, and how far between them; `side` chooses at a jump.
saltus.locate = function (times, t, side) {
  let low = 0, high = times.length - 1;
  if (side === "before") {
    while (low < high) { const middle = (low + high) >> 1; if (times[middle] < t) low = middle + 1; else high = middle; }
    if (times[low] === t || low === 0) return [low, low, 0];
    low -= 1;
  } else {
    while (low < high) { const middle = (low + high + 1) >> 1; if (times[middle] <= t) low = middle; else high = middle - 1; }
  }
  const next = Math.min(low + 1, times.length - 1), span = times[next] - times[low];
  return span > 0 ? [low, next, Math.min(Math.max((t - times[low]) / span, 0), 1)] : [low, low, 0];
};
