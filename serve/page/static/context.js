// The records around one, of the same service, instance and source, as the list shows them.

import { html, useEffect, useMemo, useState } from './vendor/htm-preact.js';
import { nanosOf, readAll } from './api.js';
import { layoutOf } from './layout.js';
import { List } from './list.js';
import { quote } from './logql.js';
import { maxLine } from './search.js';
import { Failure } from './ui.js';

const around = 25;
const more = 100;
const day = 24n * 3600n * 1000000000n;

const selectorOf = (record) =>
  `{service_name=${quote(record.service)}, instance=${quote(record.instance)}${record.source ? `, source=${quote(record.source)}` : ''}}`;

/** Context shows the records around one; it asks for more of them on demand. */
export function Context({ record, state, columns, marks }) {
  const [size, setSize] = useState({ before: around, after: around });
  const [found, setFound] = useState({ busy: true });
  const [again, setAgain] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const at = nanosOf(record);
    const query = selectorOf(record);
    const ask = (start, end, direction, limit) =>
      readAll({ query, start: start.toString(), end: end.toString(), direction, limit, max_line: maxLine, repeats: 1 }, controller.signal);
    setFound((now) => ({ ...now, busy: true }));
    Promise.all([ask(at - day, at, 'backward', size.before), ask(at, at + 1n, 'forward', 1000), ask(at + 1n, at + day, 'forward', size.after)]).then(
      ([before, same, after]) => setFound({ all: [...before.reverse(), ...same, ...after], before: before.length, same: same.length, after: after.length }),
      (error) => error.name !== 'AbortError' && setFound({ error }),
    );
    return () => controller.abort();
  }, [record, size, again]);
  const { all = [] } = found;
  const layout = useMemo(() => ({ ...layoutOf(state, columns, all), sort: 'time' }), [state.cols, state.lines, state.tz, state.format, found.all]);
  if (found.error) return html`<${Failure} title="Cannot read the context" error=${found.error} onRetry=${() => setAgain(again + 1)} />`;
  if (!found.all) return html`<p class="remark working" role="status">Reading the context …</p>`;
  const own = all.findIndex((one, i) => i >= found.before && i < found.before + found.same && (one.line === record.line || (one.bytes && record.line.startsWith(one.line))));
  const button = (side, where) =>
    found[side] < size[side]
      ? html`<span class="remark">No more records in the 24 hours ${side}</span>`
      : html`<button type="button" class="link" id=${`context-${side}`} disabled=${Boolean(found.busy)} onClick=${() => setSize({ ...size, [side]: size[side] + more })}>${more} more ${where}</button>`;
  return html`<section class="context" aria-label="Records around">
    <p class="remark">${record.service} · ${record.instance}${record.source ? ` · ${record.source}` : ''} · ${button('before', 'before')}</p>
    <${List}
      id="context-records" label="Records around" records=${all} selected=${-1} center=${own < 0 ? found.before : own} onSelect=${() => {}} onOpen=${() => {}}
      ...${{ layout, marks }} busy=${found.busy} />
    <p class="remark">${button('after', 'after')}</p>
  </section>`;
}
