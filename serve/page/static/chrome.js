// What stands above the results: the header and the tool bar of the list.

import { html } from './vendor/htm-preact.js';
import { place } from './explain.js';
import { count } from './format.js';
import { parse, kind, toLogQL } from './logql.js';
import { ColumnPicker, Download } from './panels.js';
import { CommandCopier, QueryPicker, RangeMoves, RangePicker, RefreshPicker, ServicePicker, Statistics } from './pickers.js';
import { Cost, QueryBar } from './querybar.js';
import { queries } from './session.js';
import { isRelative } from './time.js';
import { Button } from './ui.js';

/** servicesOf are the services that a query names one by one. */
function servicesOf(text) {
  if (kind(text) !== 'log') return [];
  return parse(toLogQL(text))
    .matchers.filter((m) => (m.name === 'service_name' || m.name === 'service') && (m.op === '=' || (m.op === '=~' && m.value !== '.+')))
    .flatMap((m) => (m.op === '=' ? [m.value] : m.value.split('|').map((v) => v.replace(/\\(.)/g, '$1'))));
}

/** Header has the query, the range and what they cost. */
export function Header({ state, found, columns, text, setText, estimate, actions, completions, live, explanation }) {
  const busy = ['loading', 'paging'].includes(found.status);
  const wrong = found.status === 'error' && found.error?.status === 400;
  const words = kind(text) === 'words';
  return html`<header class="top">
    <a class="skip" href="#results" onClick=${(e) => {
      e.preventDefault();
      (document.getElementById('records') || document.getElementById('results')).focus();
    }}>Skip to the results</a>
    <div class="top-row">
      <h1 class="brand"><a href="#" title="What is happening now" onClick=${(e) => {
        e.preventDefault();
        actions.onQuery('');
      }}>Logstow</a></h1>
      <${ServicePicker} state=${state} query=${state.q} services=${servicesOf(state.q)} onFilter=${actions.onFilter} />
      <${QueryBar} text=${text} onText=${setText} onRun=${actions.onRun} busy=${busy} onStop=${actions.onStop} ...${completions} error=${wrong}
        mistake=${place(explanation, text, state)} matchCase=${state.case === '1'} onCase=${actions.onCase} />
      <div class="times">
        <${RangePicker} state=${state} onChange=${actions.onChange} />
        <${RangeMoves} ...${actions} />
      </div>
      <div class="buttons follow">
        <${Button} icon="live" label="Live" id="live" pressed=${Boolean(state.live)} class=${state.live && ['open', 'watched'].includes(live.name) ? 'on' : ''} disabled=${found.kind === 'metric' && !state.live} hint="Live tail (l)" onClick=${actions.onLive} />
        ${isRelative(state.to) && html`<${RefreshPicker} value=${state.refresh} onChange=${actions.onRefresh} />`}
      </div>
    </div>
    <div class="top-row second">
      <${Cost} estimate=${state.live ? null : estimate} />
      ${words && html`<span class="runs-as">Runs as <code>${toLogQL(text, state.case === '1')}</code></span>`}
      ${text.trim() !== state.q.trim() && html`<span class="unsent">Enter runs the query</span>`}
      <span class="buttons">
        <${QueryPicker} ...${{ queries, state }} onOpen=${actions.onSaved} />
        <${Statistics} ...${{ found, state }} onRun=${actions.onStatistics} />
        <${Button} icon="split" iconOnly label="Second query" hint="A second query beside this one (2)" id="split" pressed=${Boolean(state.split)} disabled=${Boolean(state.live)} onClick=${actions.onSplit} />
        <${CommandCopier} search=${found} state=${state} />
        <${Button} icon="link" iconOnly label="Copy link" hint="Copy the link (y)" id="link" onClick=${actions.onLink} />
        <${Download} search=${found} estimate=${estimate} total=${found.histogram?.total} columns=${columns} />
        <${Button} icon="sun" iconOnly label="Dark or light" hint="Dark or light (v)" id="theme" onClick=${actions.onTheme} />
        <${Button} icon="help" iconOnly label="Help" hint="Help (?)" id="help" onClick=${actions.onHelp} />
      </span>
    </div>
  </header>`;
}

/** Summary is how many records there are. */
export function Summary({ found, state, live }) {
  if (state.live) {
    const text = { open: 'Following', watched: 'Following · shippers flush early', connecting: 'Connecting …', closed: `Reconnecting: ${live.text}` }[live.name] || 'Connecting …';
    const missing = ['open', 'watched'].includes(live.name) && live.text ? ` · ${live.text}` : '';
    return html`${text} · <b>${count(found.records.length)}</b> records${missing}`;
  }
  if (found.kind === 'nothing') return html`Services`;
  const exact = found.range && found.range.from % found.range.step === 0 && found.range.to % found.range.step === 0;
  const { length } = found.records;
  if (found.status === 'loading' && !length) return html`Loading …`;
  if (found.status === 'error' && !length) return null; // the results have the error
  const whole = !found.more && found.status === 'done' ? length : found.histogram && Math.max(found.histogram.total, length);
  if (whole === null || whole === undefined) return html`<b>${count(length)}</b> records`;
  return length < whole ? html`<b>${count(length)}</b> of ${exact ? '' : 'about '}<b>${count(whole)}</b> records` : html`<b>${count(length)}</b> ${length === 1 ? 'record' : 'records'}`;
}

const linesOf = ({ lines }) => ({ 3: '3 lines', all: 'All lines' })[lines] || '1 line';

/** Toolbar is above the list. */
export function Toolbar({ state, found, columns, actions, live }) {
  const list = found.kind === 'metric' || (state.view !== 'patterns' && found.kind !== 'nothing');
  return html`<div class="toolbar" role="group" aria-label="List">
    ${found.kind !== 'metric' && html`<${Button} icon="filter" class="facets-button" label="Fields" hint="Fields (f)" id="fields-button" onClick=${actions.onFacets} />
    <span class="tabs" role="group" aria-label="View">
      <button type="button" id="view-records" aria-pressed=${String(state.view !== 'patterns')} onClick=${() => state.view === 'patterns' && actions.onView()}>${found.kind === 'nothing' && !state.live ? 'Services' : 'Records'}</button>
      <button type="button" id="view-patterns" aria-pressed=${String(state.view === 'patterns')} onClick=${() => state.view !== 'patterns' && actions.onView()}>Patterns</button>
    </span>`}
    <span class="found" role="status" id="found">${(list || state.live) && html`<${Summary} ...${{ found, state, live }} />`}</span>
    ${(list || state.live) &&
    html`<span class="buttons">
      ${!state.live && html`<${Button} icon="order" label="Order" id="order" hint="Order (o)" onClick=${actions.onOrder}><span class="optional">${state.order === 'newest' ? 'Newest first' : 'Oldest first'}</span><//>`}
      <${Button} icon="rows" label=${`Lines of a record: ${linesOf(state)}`} id="lines" hint="One, three or all lines of a record (w)" onClick=${actions.onLines}><span class="optional">${linesOf(state)}</span><//>
      <${Button} icon="braces" label="As logged" id="format" hint="Messages as logged, or without time and level, JSON as text and name=value (i)" pressed=${state.format === 'raw'} onClick=${actions.onFormat}><span class="optional">Raw</span><//>
      <${ColumnPicker} records=${found.records} columns=${columns} onColumns=${actions.onColumns} />
    </span>`}
  </div>`;
}
