// Units of the values of charts.

import { bytes, short } from './format.js';

/** units are the names of those that can be chosen. */
export const units = { none: 'number', '/s': 'per second', ms: 'milliseconds', s: 'seconds', B: 'bytes', 'B/s': 'bytes per second', '%': 'percent' };

const ofName = (name) => {
  if (/(_|^)(ms|millis|milliseconds)$/i.test(name)) return 'ms';
  if (/(_|^)(s|sec|secs|seconds|duration)$/i.test(name)) return 's';
  return /bytes|(_|^)size$/i.test(name) ? 'B' : 'none';
};

/** guessUnit is the unit of the values of a metric query. */
export function guessUnit(query) {
  const text = query.replace(/"(?:[^"\\]|\\.)*"|`[^`]*`/g, '""');
  if (/[)\d]\s*\/\s*[(\w]/.test(text)) return /\*\s*100\s*\)*\s*$|^\(*\s*100\s*\*/.test(text) ? '%' : 'none'; // a share
  if (/\bbytes_rate\b/.test(text)) return 'B/s';
  if (/\bbytes_over_time\b/.test(text)) return 'B';
  const rate = /\brate(_counter)?\b/.test(text);
  const unwrap = /\|\s*unwrap\s+(?:(\w+)\s*\(\s*)?(\w+)/.exec(text);
  if (!unwrap || /\b(count|stdvar)(_over_time)?\b/.test(text)) return rate ? '/s' : 'none';
  const unit = { duration: 's', duration_seconds: 's', bytes: 'B' }[unwrap[1]] || ofName(unwrap[2]);
  return rate ? (unit === 'B' ? 'B/s' : '/s') : unit;
}

const steps = { ms: [[36e5, 'h'], [6e5, 'min', 6e4], [1e3, 's'], [1, 'ms'], [0, 'µs', 1e-3]], B: [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [0, 'B', 1]] };

/** divided is how an axis up to a value shows a unit: what it divides by, and what is behind numbers. */
export function divided(unit, max) {
  const of = (all, value, suffix = '') => {
    const [least, name, by = least] = all.find(([from]) => value >= from);
    return { by, suffix: ` ${name}${suffix}` };
  };
  switch (unit) {
    case 'ms':
      return of(steps.ms, max);
    case 's': {
      const { by, suffix } = of(steps.ms, max * 1e3);
      return { by: by / 1e3, suffix };
    }
    case 'B':
      return of(steps.B, max);
    case 'B/s':
      return of(steps.B, max, '/s');
    default:
      return { by: 1, suffix: unit === 'none' ? '' : unit };
  }
}

/** formatValue is a value with its unit. */
export function formatValue(value, unit) {
  if (!Number.isFinite(value)) return '–';
  if (unit === 'B' || unit === 'B/s') return (value < 0 ? '-' : '') + bytes(Number(Math.abs(value).toPrecision(4))) + unit.slice(1);
  const { by, suffix } = divided(unit, Math.abs(value));
  return value === 0 ? `0${unit === '/s' || unit === '%' ? unit : ''}` : short(value / by) + suffix;
}
