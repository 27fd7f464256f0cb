// The panel of command lines of the query.

import { html } from './vendor/htm-preact.js';
import { command, statsCommand } from './command.js';
import { commandName } from './fields.js';
import { Button, copy, notify } from './ui.js';

/** CommandPanel shows the command lines of a query. */
export function CommandPanel({ search, state, close }) {
  if (!search.range) return html`<p>There is no range.</p>`;
  const metric = search.kind === 'metric';
  const all = [[metric ? 'The same query' : 'The same records', command({ ...search, state })]];
  const [ql] = all[0].slice(1);
  const moving = command({ ...search, state, relative: true });
  if (moving !== ql) all.push(['The same range before now', moving]);
  const stats = metric && statsCommand({ query: search.query, range: search.range, state, nameOf: (name) => commandName(search.records, name) });
  if (stats) all.push(['The same numbers', stats]);
  return html`${all.map(
      ([label, text], i) => html`<div class="command-line"><span class="remark">${label}</span><code id=${`command-${i}`}>${text}</code>
        <${Button} icon="copy" label=${`Copy: ${label.toLowerCase()}`} onClick=${async () => {
          if (await copy(text)) notify('Command copied');
          close();
        }}><span>Copy</span><//></div>`,
    )}
    <p class="remark"><code>logq</code> reads the store in <code>$LOGSTOW_STORE</code>, or give <code>--store</code>.</p>`;
}
