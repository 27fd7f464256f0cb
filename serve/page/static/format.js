// Numbers for people.

const grouped = new Intl.NumberFormat('en-US');

/** count is 12,345. */
export const count = (n) => grouped.format(n);

/** short is 12.3k. */
export function short(n) {
  const abs = Math.abs(n);
  if (abs >= 1e9) return trim(n / 1e9) + 'G';
  if (abs >= 1e6) return trim(n / 1e6) + 'M';
  if (abs >= 1e4) return trim(n / 1e3) + 'k';
  if (abs >= 100 || Number.isInteger(n)) return count(Math.round(n));
  return abs >= 1 ? trim(n) : String(Number(n.toPrecision(2)));
}

const trim = (n) => (n >= 100 ? n.toFixed(0) : n.toFixed(1).replace(/\.0$/, ''));

/** bytes is 1.2 MB. */
export function bytes(n) {
  if (n < 1e3) return `${n} B`;
  for (const unit of ['kB', 'MB', 'GB']) {
    n /= 1e3;
    if (n < 999.5) return `${n < 10 ? n.toFixed(1) : n.toFixed(0)} ${unit}`;
  }
  return `${(n / 1e3).toFixed(1)} TB`;
}

/** dollars is $0.0012. */
export function dollars(n) {
  if (n === 0) return '$0';
  if (n < 0.0001) return 'under $0.0001';
  return '$' + (n < 0.01 ? n.toFixed(4) : n.toFixed(2));
}

/** percent is 12.3%. */
export function percent(part, whole) {
  if (!whole) return '0%';
  const p = (part / whole) * 100;
  return p > 0 && p < 0.1 ? '<0.1%' : `${p >= 10 ? p.toFixed(0) : p.toFixed(1)}%`;
}

/** plural is "1 record", "2 records". */
export const plural = (n, one) => `${count(n)} ${one}${n === 1 ? '' : 's'}`;
