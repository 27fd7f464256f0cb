// Axes: round values and even times.

import { offset } from './time.js';

const tickSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1e3);
const small = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** roundStep is the smallest of 1, 2 and 5 times a power of ten that is not below n. */
export function roundStep(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  const step = [1, 2, 5, 10].find((f) => f * power >= n * (1 - 1e-9)) * power;
  return Number(step.toPrecision(1));
}

/** valueScale is an axis for values: its ticks, and at, the part of the axis below a value. Of log, values that are not above 0 are at its start. */
export function valueScale({ min = 0, max, least, log = false, ticks = 4, whole = false }) {
  if (log && max > 0) {
    const [low, high] = [Math.floor(Math.log10(Math.min(least || max, max / 10)) + 1e-9), Math.ceil(Math.log10(max) - 1e-9)];
    const span = Math.max(1, high - low);
    const apart = Math.ceil((span + 1) / (ticks + 2));
    const all = [];
    for (let power = high; power >= low; power -= apart) all.unshift(Number(`1e${power}`));
    return { ticks: all, at: (v) => (v > 0 ? Math.max(0, Math.min(1, (Math.log10(v) - low) / span)) : 0) };
  }
  let step = roundStep((max - min || 1) / ticks);
  if (whole) step = Math.max(1, step);
  const [first, last] = [Math.floor(min / step + 1e-9), Math.max(Math.ceil(max / step - 1e-9), Math.floor(min / step) + 1)];
  const all = [];
  for (let i = first; i <= last; i++) all.push(Number((i * step).toPrecision(12)));
  return { ticks: all, at: (v) => (v - first * step) / ((last - first) * step) };
}

/** timeTicks are even times of a zone in a range, for a width in pixels: apart is the time between them. */
export function timeTicks(range, zone, width) {
  const room = Math.max(2, Math.floor(width / 72));
  const span = range.to - range.from;
  const apart = [...small, ...tickSteps].find((s) => span / s <= room) || Math.ceil(span / room / 864e5) * 864e5;
  const shift = offset(range.from, zone);
  const all = [];
  for (let t = Math.ceil((range.from + shift) / apart) * apart - shift; t < range.to; t += apart) all.push(t);
  return { apart, all };
}
