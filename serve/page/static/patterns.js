// Shapes of messages with their counts.

import { html, useEffect, useState } from './vendor/htm-preact.js';
import { Button, Failure } from './ui.js';
import { getJSON, loki } from './api.js';
import { CSVButton } from './chart.js';
import { count, percent } from './format.js';
import { everything, parse, quote, runsAs, selectorOf, withStage } from './logql.js';
import { nanos } from './time.js';
import { printable } from './text.js';

/** Sparkline is a row of bars, for one line of text. */
export function Sparkline({ values, class: className = '' }) {
  const max = Math.max(1, ...values);
  const each = 100 / values.length;
  const path = values.map((v, i) => (v ? `M${(i * each).toFixed(2)} 20h${(each * 0.85).toFixed(2)}V${(20 - Math.max(1.5, (v / max) * 19)).toFixed(2)}h-${(each * 0.85).toFixed(2)}z` : '')).join('');
  return html`<svg class=${`sparkline ${className}`} viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"><path d=${path} /></svg>`;
}

const buckets = 40;

/** Patterns asks for the patterns of the selector of a query. */
export function Patterns({ search, state, onQuery }) {
  const { query, range, kind } = search;
  const [found, setFound] = useState({ busy: true });
  const [again, setAgain] = useState(0);
  const selector = kind === 'metric' ? '' : selectorOf(query || everything);
  useEffect(() => {
    if (!range || !selector) return undefined;
    const controller = new AbortController();
    setFound({ busy: true });
    const step = Math.max(1, Math.ceil((range.to - range.from) / buckets));
    getJSON(loki + 'patterns', { query: selector, start: nanos(range.from), end: nanos(range.to), step: `${step}ms`, limit: 200 }, controller.signal).then(
      ({ data }) => setFound({ patterns: data.map((one) => summed(one, range, step)).sort((a, b) => b.total - a.total) }),
      (error) => error.name !== 'AbortError' && setFound({ error }),
    );
    return () => controller.abort();
  }, [selector, range?.from, range?.to, again]);
  if (!selector) return html`<div class="empty"><p>Patterns require a log query.</p></div>`;
  if (found.error) return html`<${Failure} title="Patterns failed" error=${found.error} onRetry=${() => setAgain(again + 1)} />`;
  if (found.busy) return html`<div class="empty" role="status"><p class="working">Reading messages …</p></div>`;
  const total = found.patterns.reduce((sum, one) => sum + one.total, 0);
  if (!total) return html`<div class="empty"><h2>No patterns</h2><p>There are no records of this selector in the range.</p></div>`;
  const rows = () => [['records', 'level', 'pattern'], ...found.patterns.map((one) => [one.total, one.level, one.pattern])];
  const filtered = parse(query).stages.length > 0;
  return html`<div class="patterns" tabindex="0" role="region" aria-label="Patterns">
    ${filtered && html`<p class="remark">These are the patterns of <code>${selector}</code>: the stages of the query are not applied.</p>`}
    <table>
      <thead><tr><th scope="col" class="number">Records</th><th scope="col" class="number">Share</th><th scope="col">Over time</th><th scope="col">Level</th><th scope="col">Pattern <${CSVButton} name="patterns" rows=${rows} /></th><th scope="col"><span class="sr">Filter</span></th></tr></thead>
      <tbody>
        ${found.patterns.map(
          (one) => html`<tr key=${one.pattern + one.level}>
            <td class="number">${count(one.total)}</td><td class="number">${percent(one.total, total)}</td>
            <td class=${`spark level-${one.level || 'unknown'}`}><${Sparkline} values=${one.values} /></td>
            <td><span class=${`badge level-${one.level || 'unknown'}`}>${one.level || '–'}</span></td>
            <td class="pattern"><bdi dir="ltr">${printable(one.pattern).split('<_>').flatMap((part, i) => (i ? [html`<i class="wild" title="anything">‹…›</i>`, part] : [part]))}</bdi></td>
            <td class="actions">
              <${Button} icon="plus" iconOnly label="Only records of this pattern" onClick=${() => onQuery(withStage(runsAs(state), `|> ${quote(one.pattern)}`))} />
              <${Button} icon="minus" iconOnly label="Exclude records of this pattern" onClick=${() => onQuery(withStage(runsAs(state), `!> ${quote(one.pattern)}`))} />
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function summed({ pattern, level, samples }, range, step) {
  const values = new Array(buckets).fill(0);
  let total = 0;
  for (const [t, n] of samples) {
    values[Math.max(0, Math.min(buckets - 1, Math.floor((t * 1e3 - range.from) / step)))] += n;
    total += n;
  }
  return { pattern, level, values, total };
}
