// The records of a time before, to compare with: as many bars earlier as a period, a day or a week has.

import { html, useEffect, useState } from './vendor/htm-preact.js';
import { count } from './format.js';
import { countable } from './logql.js';
import { countBars } from './search.js';

/** comparisons are those that can be chosen. */
export const comparisons = [['', 'No comparison'], ['period', 'Previous period'], ['day', 'Day before'], ['week', 'Week before']];

const spans = { period: ({ from, to }) => to - from, day: () => 864e5, week: () => 6048e5 };

/** shiftOf is how much earlier the bars of a comparison are, in ms: a multiple of the step. */
export function shiftOf(compare, range) {
  if (!Object.hasOwn(spans, compare)) return 0;
  return Math.max(1, Math.ceil(spans[compare](range) / range.step - 1e-9)) * range.step;
}

/**
 * useGhost counts the records of the time before: {points: Map, total, compare} by the bars of the present, {error}, or null. Counts of metadata
 * cost little, others as much as the histogram.
 */
export function useGhost(found, compare) {
  const [ghost, setGhost] = useState(null);
  const { range, query, kind } = found;
  const ready = ['done', 'paging', 'error'].includes(found.status); // before, its cost may not be confirmed
  const shift = range && kind !== 'metric' ? shiftOf(compare, range) : 0;
  const key = `${query} ${range?.from} ${range?.to} ${shift}`;
  useEffect(() => {
    if (!ready || !shift) return undefined;
    const controller = new AbortController();
    const before = { from: range.from - shift, to: range.to - shift, step: range.step };
    countBars(before, 'sum', countable(query), controller.signal).then(
      (result) => {
        const points = new Map((result[0]?.points || []).map(([t, n]) => [t + shift, n]));
        setGhost({ key, points, compare, total: [...points.values()].reduce((sum, n) => sum + n, 0) });
      },
      (error) => error.name !== 'AbortError' && setGhost({ key, error }),
    );
    return () => controller.abort();
  }, [ready, key]);
  return shift && ghost?.key === key ? ghost : null;
}

/** change is a number compared with one before: +12%, or nothing if there was none. */
function change(now, before) {
  if (!before) return '';
  const percent = (now / before - 1) * 100;
  const text = Math.abs(percent) >= 10 ? Math.round(percent) : Math.round(percent * 10) / 10;
  return `${text > 0 ? '+' : ''}${text}%`;
}

const nameOf = (compare) => comparisons.find(([value]) => value === compare)[1].toLowerCase();

/** ComparePicker chooses the comparison, and shows how many records there were. */
export function ComparePicker({ compare, ghost, total, onCompare }) {
  return html`<span class="compare">
    ${ghost?.error && html`<span class="bad" role="alert">Cannot compare: ${ghost.error.message}</span>`}
    ${ghost && !ghost.error && html`<span class="compared" title=${`Records of the ${nameOf(ghost.compare)}`}><i class="dot ghost-dot" />${count(ghost.total)}${total !== undefined && ghost.total ? html` <b>${change(total, ghost.total)}</b>` : ''}</span>`}
    <label><span class="sr">Compare with</span>
      <select id="compare" class="small" value=${Object.hasOwn(spans, compare) ? compare : ''} title="Compare with a time before (b)" onChange=${(e) => onCompare(e.target.value)}>
        ${comparisons.map(([value, name]) => html`<option value=${value}>${name}</option>`)}
      </select>
    </label>
  </span>`;
}

/** nextComparison is the one behind another, for the key. */
export const nextComparison = (compare) => comparisons[(comparisons.findIndex(([value]) => value === compare) + 1) % comparisons.length][0];
