// The histogram of records with its legend, its comparison and its choices.

import { html, useMemo } from './vendor/htm-preact.js';
import { ChartOptions, useShown } from './chart.js';
import { comparisons, ComparePicker, useGhost } from './compare.js';
import { timeRows } from './csv.js';
import { isMistake } from './explain.js';
import { Histogram, Legend } from './histogram.js';
import { coloured, sortSeries } from './levels.js';

/** Counts is the histogram of what was found; cursor is that of the other query's, if there is one. */
export function Counts({ id, found, state, actions, cursor }) {
  const { histogram, histogramError, range, by } = found;
  const waits = found.status === 'loading' || !histogram;
  const all = useMemo(() => coloured(by, sortSeries(by, histogram?.series || [])), [histogram, by]);
  const { isShown, onLegend } = useShown(all.map((one) => one.name));
  const ghost = useGhost(found, state.compare);
  const shown = all.filter((one) => isShown(one.name));
  const [stacked, log] = [state.stack !== '0', Boolean(state.log)];
  if (histogramError && (found.status === 'error' || isMistake(histogramError))) return null; // the results have the error
  if (histogramError && histogramError.status !== 401) {
    return html`<div class="counts"><p class="remark" role="alert">Records over time are not available: ${histogramError.message} ${by !== 'level' && html`<button type="button" class="link" onClick=${() => actions.onBy('level')}>Colour by level</button>`}</p></div>`;
  }
  if (!range) return html`<div class="counts placeholder" />`;
  const before = ghost?.points && { points: ghost.points, name: comparisons.find(([value]) => value === ghost.compare)[1].toLowerCase() };
  return html`<div class="counts">
    <${Histogram} ...${{ id, range, stacked, log, cursor }} ghost=${before} series=${shown} zone=${state.tz} loading=${waits} label="Records over time" onRange=${actions.onRange} />
    <div class="counts-foot">
      ${histogram && html`<${Legend} series=${all} ...${{ isShown, onLegend }} />`}
      ${by !== 'level' && html`<span class="by">by <b>${by}</b> <button type="button" class="link" onClick=${() => actions.onBy('level')}>by level</button></span>`}
      <${ChartOptions} ...${{ stacked, log }} onChart=${actions.onChart} name="counts" rows=${() => timeRows(before ? [...shown, before] : shown)}>
        ${!id && html`<${ComparePicker} compare=${state.compare} ghost=${ghost} total=${histogram?.total} onCompare=${(compare) => actions.onChart({ compare })} />`}
      <//>
    </div>
  </div>`;
}
