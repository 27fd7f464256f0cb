// Levels, the worst last, and colours: classes of the style sheet.

export const levels = ['unknown', 'trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** isBad reports whether a level is that of an error. */
export const isBad = (level) => level === 'error' || level === 'fatal';

const colours = 8;

/**
 * coloured are the series of a histogram, each with its class. It is by the name, so that it stays when the order changes, unless a name before it
 * has that and some are free.
 */
export function coloured(by, series) {
  if (by === 'level') return series.map((one) => ({ ...one, colour: `level-${levels.includes(one.name) ? one.name : 'unknown'}` }));
  const taken = new Map([['', 'other']]);
  for (const name of series.map((one) => one.name).sort()) {
    if (taken.has(name)) continue;
    let own = [...name].reduce((sum, c) => (sum * 31 + c.codePointAt(0)) % 65521, 7) % colours;
    const used = [...taken.values()];
    for (let i = 0; i < colours && used.includes(own); i++) own = (own + 3) % colours;
    taken.set(name, own);
  }
  return series.map((one) => ({ ...one, colour: `series-${taken.get(one.name)}` }));
}

/** sortLevels puts series of levels in their order, others by size. */
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
