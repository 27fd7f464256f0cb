// Panels of the tool bar: columns, download, the command line; help and login.

import { html, useState } from './vendor/htm-preact.js';
import { Button, Dialog, Popover } from './ui.js';
import { login, own } from './api.js';
import { saveCSV } from './csv.js';
import { summarize, valueOf } from './fields.js';
import { bytes, count, dollars, plural } from './format.js';
import { nanos } from './time.js';

/** ColumnPicker chooses the fields that the list shows. */
export function ColumnPicker({ records, columns, onColumns }) {
  const [name, setName] = useState('');
  return html`<${Popover} id="columns" icon="columns" label="Columns" panelClass="columns" text=${html`<span class="optional">Columns</span>${columns.length > 0 && html`<b>${columns.length}</b>`}`} hint="Columns (e)">
    ${() => {
      const found = summarize(records.slice(0, 500)).map((f) => f.name);
      const others = ['instance', 'source', ...found].filter((f) => !columns.includes(f) && f.toLowerCase().includes(name.toLowerCase()));
      const toggle = (f) => onColumns(columns.includes(f) ? columns.filter((c) => c !== f) : [...columns, f]);
      const move = (i, by) => {
        const next = [...columns];
        next.splice(i + by, 0, ...next.splice(i, 1));
        onColumns(next);
      };
      return html`<form onSubmit=${(e) => {
          e.preventDefault();
          if (name.trim()) toggle(others.length === 1 ? others[0] : name.trim());
          setName('');
        }}>
          <input type="search" autofocus placeholder="Find or name a field" aria-label="Find or name a field" value=${name} onInput=${(e) => setName(e.target.value)} />
        </form>
        ${columns.length > 0 &&
        html`<ul aria-label="Columns shown">${columns.map((f, i) => html`<li key=${f} class="column-item">
          <label class="choice"><input type="checkbox" checked onChange=${() => toggle(f)} /> ${f}</label>
          <${Button} icon="left" iconOnly label=${`Move ${f} to the left`} disabled=${i === 0} onClick=${() => move(i, -1)} />
          <${Button} icon="right" iconOnly label=${`Move ${f} to the right`} disabled=${i === columns.length - 1} onClick=${() => move(i, 1)} />
        </li>`)}</ul><hr />`}
        <ul aria-label="Fields">${others.slice(0, 100).map((f) => html`<li key=${f}><label class="choice"><input type="checkbox" checked=${false} onChange=${() => toggle(f)} /> ${f}</label></li>`)}</ul>
        ${!others.length && html`<p class="remark">No field in the list has this in its name. Enter adds it as a column.</p>`}`;
    }}
  <//>`;
}

/** listRows are the records of the list with its columns. */
const listRows = (records, columns) => [
  ['time', 'level', 'service', 'instance', 'source', ...columns, 'message'],
  ...records.map((one) => [one.time, one.level, one.service, one.instance, one.source, ...columns.map((name) => valueOf(one, name)), one.line]),
];

/** Download links to the records of a query, without a maximum. */
export function Download({ search, estimate, total, columns }) {
  const log = search.kind === 'log' || search.kind === 'words' || search.kind === 'nothing';
  const url = (format) => {
    const { from, to } = search.range;
    return `${own}records?${new URLSearchParams({ query: search.query, start: nanos(from), end: nanos(to), direction: 'forward', format, download: '1' })}`;
  };
  return html`<${Popover} id="download" icon="download" label="Download" iconOnly hint="Download (d)" class="end" panelClass="download">
    ${(close) => html`${log && search.range
        ? html`<p>${total === undefined ? 'All records of the range' : html`All <b>${count(total)}</b> records of the range`}, the oldest first.
              ${estimate && !estimate.error && html` Reads at most ${bytes(estimate.bytes)}${estimate.cost_usd > 0 ? `, ${dollars(estimate.cost_usd)}` : ''}.`}</p>
            <a class="button" id="download-raw" href=${url('raw')} download onClick=${close}>Text, as logged</a>
            <a class="button" id="download-ndjson" href=${url('ndjson')} download onClick=${close}>NDJSON, with labels</a>
            <p class="remark">The file is written while the query runs. If the connection breaks, the browser reports the download as failed.</p>`
        : html`<p>Of metric queries the chart and its table can be saved as CSV, and the records of the list.</p>`}
      ${search.records.length > 0 && html`<${Button} id="download-csv" label=${`CSV of ${plural(search.records.length, 'record')} of the list`} onClick=${() => {
        saveCSV('records', listRows(search.records, columns));
        close();
      }} />`}`}
  <//>`;
}

const keys = [
  ['/', 'query'], ['Enter', 'run the query; on a record: open it'], ['Ctrl Space', 'complete the query'], ['a', 'match the case of words, or not'], ['r', 'run again'], ['t', 'range'], ['s', 'services'],
  ['[ ]', 'earlier, later'], ['-', 'longer range'], ['h', 'histogram: arrows move, Shift selects, Enter zooms in'], ['f', 'fields'],
  ['j k  ↓ ↑', 'next, previous record'], ['PgDn PgUp Home End', 'in the list'], ['c', 'context of the record'], ['Esc', 'close'], ['l', 'live tail on or off'],
  ['m', 'statistics'], ['b', 'compare with a time before'], ['2', 'second query'], ['q', 'saved and recent queries'],
  ['o', 'newest or oldest first'], ['w', 'one, three or all lines of a record'], ['Space', 'all of the record, in its place'], ['i', 'messages as logged, or readable'], ['e', 'columns'], ['p', 'patterns or records'], ['d', 'download'],
  ['x', 'copy as logq command'], ['y', 'copy the link'], ['v', 'dark or light'], ['?', 'this help'],
];

/** Help lists keys and the forms of queries. */
export function Help({ onClose }) {
  return html`<${Dialog} label="Help" onClose=${onClose} class="help">
    <div class="help-columns">
      <section>
        <h3>Keys</h3>
        <table><tbody>${keys.map(([key, text]) => html`<tr><th scope="row">${key.split(' ').filter(Boolean).map((one) => html`<kbd>${one}</kbd>`)}</th><td>${text}</td></tr>`)}</tbody></table>
      </section>
      <section>
        <h3>Queries</h3>
        <dl>
          <dt><code>timeout "connection reset" -health</code></dt><dd>Records that contain all the words, in any place, and none of those after <code>-</code>, in any case; <b>Aa</b> matches the case.</dd>
          <dt><code>{service_name="web", level=~"error|fatal"}</code></dt><dd>Labels: <code>service_name level instance source</code></dd>
          <dt><code>{…} |= "text" != "other" |~ "expr.*"</code></dt><dd>Line filters</dd>
          <dt><code>{…} | json | status >= 500</code></dt><dd>Fields of JSON; <code>| logfmt</code> those of <code>name=value</code></dd>
          <dt><code>sum by (level) (rate({…}[5m]))</code></dt><dd>A metric query is drawn as a chart</dd>
        </dl>
        <p class="remark">The address of the page contains everything that it shows: copy the address to share it.</p>
      </section>
    </div>
  <//>`;
}

/** Login asks for a token. */
export function Login({ onDone }) {
  const [token, setToken] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    try {
      await login(token.trim());
      onDone();
    } catch (err) {
      setError(err.status === 401 ? 'This token is not valid.' : err.message);
    }
    setBusy(false);
  };
  return html`<main class="login">
    <form onSubmit=${submit}>
      <h1>Logstow</h1>
      <p>This server requires a token.</p>
      <label>Token<input type="password" id="token" autocomplete="current-password" value=${token} onInput=${(e) => setToken(e.target.value)} aria-invalid=${String(Boolean(error))} autofocus /></label>
      ${error && html`<p class="bad" role="alert">${error}</p>`}
      <button class="button primary" disabled=${busy || !token.trim()}>Log in</button>
    </form>
  </main>`;
}
