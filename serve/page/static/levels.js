// Levels, the worst last, and the colours of charts: classes of the style sheet. A colour means the same in every chart.

export const levels = ['unknown', 'trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** isBad reports whether a level is that of an error. */
export const isBad = (level) => level === 'error' || level === 'fatal';

const colours = 8;
const shades = 3;
const isStatus = /^[1-5](\d\d|xx)$/;

/**
 * coloured are series of values of a field, each with its class. Those of levels and of classes of a status are fixed. That of another is by its name,
 * so that it stays when the order changes, unless a name before it has that and some are free.
 */
export function coloured(by, series) {
  if (by === 'level' || by === 'detected_level') return series.map((one) => ({ ...one, colour: `level-${levels.includes(one.name) ? one.name : 'unknown'}` }));
  const names = [...new Set(series.map((one) => one.name))].sort();
  const taken = new Map([['', 'series-other']]);
  if (/status|code/i.test(by) && names.every((name) => !name || isStatus.test(name))) {
    const seen = {};
    for (const name of names) if (name) taken.set(name, `status-${name[0]} shade-${((seen[name[0]] = (seen[name[0]] ?? -1) + 1)) % shades}`);
  }
  const used = new Set();
  for (const name of names) {
    if (taken.has(name)) continue;
    let own = [...name].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 65521, 7) % colours;
    for (let i = 0; i < colours && used.has(own); i++) own = (own + 3) % colours;
    used.add(own);
    taken.set(name, `series-${own}`);
  }
  return series.map((one) => ({ ...one, colour: taken.get(one.name) }));
}

/** sortSeries puts series of levels in their order, others by size. */
export function sortSeries(by, series) {
  if (by === 'level') return [...series].sort((a, b) => levels.indexOf(a.name) - levels.indexOf(b.name));
  if (by !== 'service_name') return series;
  const size = (one) => [...one.points.values()].reduce((sum, n) => sum + n, 0);
  const sorted = [...series].sort((a, b) => size(b) - size(a));
  if (sorted.length <= colours) return sorted;
  const rest = new Map();
  for (const one of sorted.splice(colours)) for (const [t, n] of one.points) rest.set(t, (rest.get(t) || 0) + n);
  return [...sorted, { name: '', points: rest }];
}
