// Statistics without LogQL: what is computed, of which field, by which fields. It shows the query and the command that this is.

import { html, useState } from './vendor/htm-preact.js';
import { command, statsCommand } from './command.js';
import { commandName, summarize } from './fields.js';
import { inSelector, kind, toLogQL } from './logql.js';
import { buildQuery, functions, isOfField, readQuery } from './statsquery.js';
import { resolve } from './time.js';
import { Button, copy, notify } from './ui.js';

const isField = /^[A-Za-z_]\w*$/;
const labels = ['level', 'service_name', 'instance', 'source'];

/** isNumeric reports whether most values of a field are numbers. */
const isNumeric = ({ values }) => {
  const all = [...values.keys()];
  return all.length > 0 && all.filter((one) => one !== '' && Number.isFinite(Number(one))).length * 2 > all.length;
};

function Line({ id, label, text }) {
  return html`<div class="command-line"><span class="remark">${label}</span><code id=${id}>${text}</code>
    <${Button} icon="copy" label=${`Copy: ${label}`} onClick=${async () => (await copy(text)) && notify('Copied')}><span>Copy</span><//></div>`;
}

/** StatisticsPanel makes a metric query of choices; onRun gets it, and "1" if it is evaluated once. */
export function StatisticsPanel({ found, state, onRun, close }) {
  const known = summarize(found.records.slice(0, 1000));
  const numeric = known.filter(isNumeric).map((one) => one.name);
  const read = kind(state.q) === 'metric' ? readQuery(state.q) : null;
  const [what, setWhat] = useState(read?.what || 'count');
  const [field, setField] = useState(read?.field || numeric.find((name) => /ms|duration|took|latency|bytes|size/i.test(name)) || numeric[0] || '');
  const [by, setBy] = useState(read ? read.by.join(', ') : 'level');
  const [once, setOnce] = useState(read ? Boolean(state.once) : false);
  const [top, setTop] = useState(read?.top || 10);
  const keys = by.split(',').map((one) => one.trim()).filter(Boolean);
  const names = [...labels, ...known.map((one) => one.name)];
  const wrong = isOfField(what) && !isField.test(field) ? 'Name the field that has the numbers.' : keys.some((one) => !isField.test(one)) ? 'A group is the name of a field, such as status; several are separated by commas.' : '';
  let range;
  try {
    range = resolve(state);
  } catch (err) {
    return html`<p class="bad" role="alert">${err.message}</p>`;
  }
  const base = read?.query || found.listed || toLogQL(state.q);
  const parsers = new Map(known.map((one) => [one.name, one.parser === inSelector ? '' : one.parser]));
  const query = wrong ? '' : buildQuery({ query: base, what, field, by: keys, parsers, window: once ? range.to - range.from : range.step, top: once ? Number(top) || 0 : 0 });
  const next = { ...state, once: once ? '1' : '' };
  const stats = wrong ? '' : statsCommand({ query, range, state: next, nameOf: (name) => commandName(found.records, name) });
  const submit = (e) => {
    e.preventDefault();
    if (wrong) return;
    onRun(query, next.once);
    close();
  };
  return html`<form class="statistics" onSubmit=${submit}>
    <div class="statistics-choices">
      <label>Compute<select id="stats-what" autofocus value=${what} onChange=${(e) => setWhat(e.target.value)}>${functions.map(([value, name, ofField]) => html`<option value=${value}>${name}${ofField ? ' a field' : ''}</option>`)}</select></label>
      ${isOfField(what) && html`<label>Field<input id="stats-field" list="stats-fields" value=${field} onInput=${(e) => setField(e.target.value.trim())} aria-invalid=${String(!isField.test(field))} spellcheck=${false} autocomplete="off" /></label>`}
      <label>By<input id="stats-by" list="stats-names" value=${by} placeholder="nothing: one number" onInput=${(e) => setBy(e.target.value)} spellcheck=${false} autocomplete="off" /></label>
      <div class="statistics-when">
        <span class="tabs" role="group" aria-label="When it is computed">
          <button type="button" id="stats-steps" aria-pressed=${String(!once)} onClick=${() => setOnce(false)}>Over time</button>
          <button type="button" id="stats-once" aria-pressed=${String(once)} onClick=${() => setOnce(true)}>Whole range</button>
        </span>
        ${once && html`<label class="statistics-top">Top<input id="stats-top" type="number" min="1" max="1000" value=${top} onInput=${(e) => setTop(e.target.value)} /></label>`}
      </div>
    </div>
    <datalist id="stats-fields">${[...numeric, ...known.map((one) => one.name).filter((name) => !numeric.includes(name))].map((name) => html`<option value=${name} />`)}</datalist>
    <datalist id="stats-names">${names.map((name) => html`<option value=${name} />`)}</datalist>
    ${wrong
      ? html`<p class="bad" role="alert">${wrong}</p>`
      : html`<${Line} id="stats-query" label="LogQL" text=${query} />
          <${Line} id="stats-command" label="Command" text=${stats || command({ query, kind: 'metric', range, state: next })} />
          ${!stats && html`<p class="remark">logq stats cannot express a filter or a name of this query, so the command runs the LogQL.</p>`}
          ${stats && what[0] === 'p' && html`<p class="remark">logq stats prints the value at the rank of the percentile, LogQL a value between the two nearest.</p>`}`}
    <p class="statistics-run"><button class="button primary" id="stats-run" disabled=${Boolean(wrong)}>Run</button></p>
  </form>`;
}
