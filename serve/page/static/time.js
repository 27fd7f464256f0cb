// Times: Unix milliseconds, with the digits below them as text. Zones: "local", "UTC" or a name of the IANA database.

const units = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };
const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5,
  432e5, 864e5, 6048e5,
];

/** relativeRanges are offered by the range picker. */
export const relativeRanges = [
  ['now-5m', 'Last 5 minutes'],
  ['now-15m', 'Last 15 minutes'],
  ['now-1h', 'Last hour'],
  ['now-3h', 'Last 3 hours'],
  ['now-6h', 'Last 6 hours'],
  ['now-24h', 'Last 24 hours'],
  ['now-2d', 'Last 2 days'],
  ['now-7d', 'Last 7 days'],
  ['now-30d', 'Last 30 days'],
];

/** calendarRanges are offered too. */
export const calendarRanges = [
  ['now/d', 'now', 'Today'],
  ['now-1d/d', 'now/d', 'Yesterday'],
  ['now/w', 'now', 'This week'],
  ['now-1w/w', 'now/w', 'Last week'],
  ['now/M', 'now', 'This month'],
  ['now-1M/M', 'now/M', 'Last month'],
];

const two = (n) => String(n).padStart(2, '0');

/** isRelative reports whether a time of the state moves with the clock. */
export const isRelative = (text) => text.startsWith('now');

/** parseDuration returns milliseconds, or NaN. */
export function parseDuration(text) {
  let sum = 0;
  let rest = text.trim();
  if (!rest) return NaN;
  while (rest) {
    const m = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/.exec(rest);
    if (!m) return NaN;
    sum += Number(m[1]) * (m[2] === 'ms' ? 1 : units[m[2]]);
    rest = rest.slice(m[0].length);
  }
  return sum;
}

/** calendar is the start of a unit of the calendar (m h d w M) so many of a unit from now: days are those of the zone, weeks begin on Mondays. */
function calendar(now, zone, count, unit, start) {
  const p = parts(now, zone);
  const wall = Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) + (unit === 'M' ? 0 : count * units[unit]);
  const d = new Date(wall);
  const month = Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + (unit === 'M' ? count : 0), 1);
  const day = Math.floor(wall / units.d);
  const first = { m: Math.floor(wall / units.m) * units.m, h: Math.floor(wall / units.h) * units.h, d: day * units.d, w: (day - ((day + 3) % 7)) * units.d, M: month }[start];
  return ofWall(first, zone);
}

/** ofWall is the time at which clocks of a zone show one. */
function ofWall(wall, zone) {
  const guess = wall - offset(wall, zone);
  return wall - offset(guess, zone);
}

/** parseTime returns milliseconds of "now", "now-1h", "now-1d/d" (the start of yesterday), a duration before now, a date with or without a zone, or NaN. */
export function parseTime(text, now, zone) {
  const t = text.trim();
  if (t === 'now') return now;
  const start = /^(?:now|(?=[-+/]))\s*(?:([-+])\s*(\d+)\s*([mhdwM]))?\s*\/\s*([mhdwM])$/.exec(t);
  if (start) return calendar(now, zone, Number(start[2] || 0) * (start[1] === '-' ? -1 : 1), start[3] || 'd', start[4]);
  const relative = /^(?:now)?\s*([-+])\s*(.+)$/.exec(t);
  if (relative) return now + (relative[1] === '-' ? -1 : 1) * parseDuration(relative[2]);
  if (/^\d{13}$/.test(t)) return Number(t);
  if (/^\d{10}$/.test(t)) return Number(t) * 1e3;
  const m = /^(?:(\d{4})-(\d\d)-(\d\d))?(?:[T ]*(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/.exec(t);
  if (!m || !t) return NaN;
  const today = parts(now, zone);
  const [year, month, day] = m[1] ? [m[1], m[2], m[3]].map(Number) : [today.year, today.month, today.day];
  const ms = Math.floor(Number('0.' + (m[7] || '0')) * 1e3 + 1e-6);
  const wall = Date.UTC(year, month - 1, day, Number(m[4] || 0), Number(m[5] || 0), Number(m[6] || 0), ms);
  if (new Date(wall).getUTCDate() !== day || month > 12 || Number(m[4] || 0) > 23) return NaN;
  if (m[8] === 'Z') return wall;
  if (m[8]) return wall - (m[8][0] === '-' ? -1 : 1) * (Number(m[8].slice(1, 3)) * 60 + Number(m[8].slice(-2))) * 6e4;
  return ofWall(wall, zone);
}

const formats = new Map();
const offsets = new Map();

/** offset is that of a zone from UTC at a time, in milliseconds. Zones change theirs at quarters of an hour only. */
export function offset(ms, zone) {
  if (zone === 'UTC') return 0;
  const quarter = Math.floor(ms / 9e5);
  const key = zone + quarter;
  let known = offsets.get(key);
  if (known === undefined) {
    known = zone === 'local' ? -new Date(ms).getTimezoneOffset() * 6e4 : ofZone(quarter * 9e5, zone);
    if (offsets.size > 5000) offsets.clear();
    offsets.set(key, known);
  }
  return known;
}

function ofZone(ms, zone) {
  let format = formats.get(zone);
  if (!format) {
    const numeric = 'numeric';
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone, hourCycle: 'h23', year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric,
    });
    formats.set(zone, format);
  }
  const p = {};
  for (const { type, value } of format.formatToParts(ms)) p[type] = Number(value);
  return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) - Math.floor(ms / 1e3) * 1e3;
}

function parts(ms, zone) {
  const d = new Date(ms + offset(ms, zone));
  return {
    year: d.getUTCFullYear(), month: d.getUTCMonth() + 1, day: d.getUTCDate(),
    hour: d.getUTCHours(), minute: d.getUTCMinutes(), second: d.getUTCSeconds(), ms: d.getUTCMilliseconds(),
  };
}

/** isZone reports whether the browser has a zone. */
export function isZone(zone) {
  if (zone === 'local' || zone === 'UTC') return true;
  try {
    return Boolean(new Intl.DateTimeFormat('en-US', { timeZone: zone }));
  } catch {
    return false;
  }
}

/** zones are the names of those that the browser has. */
export const zones = () => (Intl.supportedValuesOf ? Intl.supportedValuesOf('timeZone') : []);

/** zoneName is how a zone is shown: the local one by its own name. */
export const zoneName = (zone) => (zone === 'local' ? Intl.DateTimeFormat().resolvedOptions().timeZone || 'local' : zone);

/** formatDate is 2026-11-20. */
export function formatDate(ms, zone) {
  const p = parts(ms, zone);
  return `${p.year}-${two(p.month)}-${two(p.day)}`;
}

/** formatClock is 15:04:05, with as many digits of the second as asked for. below are the digits below milliseconds. */
export function formatClock(ms, zone, digits = 0, below = '') {
  const p = parts(ms, zone);
  const clock = `${two(p.hour)}:${two(p.minute)}:${two(p.second)}`;
  return digits ? `${clock}.${(String(p.ms).padStart(3, '0') + below).slice(0, digits).padEnd(digits, '0')}` : clock;
}

/** formatTime is the date and the time. */
export const formatTime = (ms, zone, digits = 0, below = '') => `${formatDate(ms, zone)} ${formatClock(ms, zone, digits, below)}`;

/** formatOffset is +01:00. */
export function formatOffset(ms, zone) {
  const minutes = Math.round(offset(ms, zone) / 6e4);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

/** formatTick labels an axis whose ticks are so far apart. */
export function formatTick(ms, zone, apart) {
  if (apart >= 864e5) return formatDate(ms, zone).slice(5);
  const clock = formatClock(ms, zone, apart < 1e3 ? 3 : 0);
  if (clock.startsWith('00:00:00')) return formatDate(ms, zone).slice(5);
  return apart >= 6e4 ? clock.slice(0, 5) : clock;
}

/** formatRange is what the button of the range shows. */
export function formatRange(from, to, zone) {
  const named = to === 'now' && relativeRanges.find(([value]) => value === from);
  if (named) return named[1];
  const days = calendarRanges.find(([a, b]) => a === from && b === to);
  if (days) return days[2];
  const relative = /^now-([^/]+)$/.exec(from);
  if (relative && to === 'now') return 'Last ' + relative[1];
  const now = Date.now();
  const [a, b] = [parseTime(from, now, zone), parseTime(to, now, zone)];
  if (Number.isNaN(a) || Number.isNaN(b)) return `${from} to ${to}`;
  const digits = a % 1e3 || (to !== 'now' && b % 1e3) ? 3 : 0;
  const first = formatTime(a, zone, digits);
  if (to === 'now') return `${first} to now`;
  return `${first} to ${formatDate(a, zone) === formatDate(b, zone) ? formatClock(b, zone, digits) : formatTime(b, zone, digits)}`;
}

/** formatDuration is a length of time in LogQL's and logq's form, exactly: 1h30m. */
export function formatDuration(ms) {
  if (ms < 1) return '0s';
  let rest = Math.round(ms);
  let text = '';
  for (const [unit, size] of [['d', 864e5], ['h', 36e5], ['m', 6e4], ['s', 1e3], ['ms', 1]]) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n) text += n + unit;
  }
  return text;
}

/** chooseStep is the step of a range that makes at most so many bars. */
export const chooseStep = (span, bars) => steps.find((s) => span / s <= bars) || Math.ceil(span / bars / 864e5) * 864e5;

/** maxBars is the maximum number of steps of a range. */
const maxBars = 120;

/** moves reports whether a time moves with the clock steadily, not by days. */
const moves = (text) => isRelative(text) && !text.includes('/');

/**
 * resolve makes times of those of the state. A range that moves with the clock begins and ends at a multiple of its step, so that
 * histogram, list and command have the same records.
 */
export function resolve({ from, to, tz }, now = Date.now()) {
  let [a, b] = [parseTime(from, now, tz), parseTime(to, now, tz)];
  if (Number.isNaN(a) || Number.isNaN(b)) throw new Error(`cannot read the range ${from} to ${to}`);
  if (b <= a) throw new Error('the range ends before it starts');
  const step = chooseStep(b - a, maxBars);
  if (moves(from)) a = Math.floor(a / step) * step;
  if (moves(to)) b = Math.ceil(b / step) * step;
  return { from: a, to: b, step };
}

/** nanos is the text of milliseconds in nanoseconds, as the API takes it. */
export const nanos = (ms) => (BigInt(Math.round(ms * 1e3)) * 1000n).toString();

/** rfc3339 is a time of the command line, in UTC. */
export const rfc3339 = (ms) => new Date(ms).toISOString().replace('.000Z', 'Z');
