// Fields with their most frequent values; a click includes or excludes one.

import { html, useMemo, useRef, useState, useEffect } from './vendor/htm-preact.js';
import { Icon } from './ui.js';
import { count, percent, short } from './format.js';
import { levels } from './levels.js';
import { filterOf, inSelector, parse, toLogQL } from './logql.js';
import { summarize, top } from './fields.js';
import { countValues } from './search.js';
import { printable, cut } from './text.js';

const sample = 1000;
const shown = 6;
const more = 30;

function Value({ name, value, n, whole, query, onFilter, parser }) {
  const mode = filterOf(query, name, value);
  const text = printable(cut(value, 200));
  return html`<li class=${`facet-value ${mode}`}>
    <button
      type="button" class="plain facet-pick" title=${`${mode === 'in' ? 'Remove the filter' : 'Only'} ${name} ${text}\n${count(n)} records`}
      aria-pressed=${String(mode === 'in')} onClick=${() => onFilter(name, value, 'in', parser)}>
      <span class=${`bar ${name === 'level' ? `level-${value}` : ''}`} style=${{ width: `${whole ? Math.max(1.5, (n / whole) * 100) : 0}%` }} />
      <span class="facet-text"><bdi dir="ltr">${text || '(empty)'}</bdi></span><span class="count">${' '}${short(n)}</span>
    </button>
    <button
      type="button" class="plain facet-out" title=${`Exclude ${text}`} aria-pressed=${String(mode === 'out')}
      aria-label=${`${mode === 'out' ? 'Remove the exclusion of' : 'Exclude'} ${name} ${text}`} onClick=${() => onFilter(name, value, 'out', parser)}>
      <${Icon} name="minus" />
    </button>
  </li>`;
}

function Facet({ name, values, distinct, coverage, parser, open, onOpen, query, range, onFilter, by, onBy, columns, onColumn, exact, counts }) {
  const [all, setAll] = useState(false);
  const [counted, setCounted] = useState(null); // {values} or {error} or {busy}
  const controller = useRef(null);
  useEffect(() => {
    setCounted(null);
    return () => controller.current?.abort();
  }, [query, range?.from, range?.to]);
  const countAll = async () => {
    controller.current?.abort();
    controller.current = new AbortController();
    setCounted({ busy: true });
    try {
      setCounted({ values: await countValues(query, name, parser, range, more, controller.current.signal) });
    } catch (error) {
      if (error.name !== 'AbortError') setCounted({ error });
    }
  };
  useEffect(() => {
    if (open && counts && range) countAll();
  }, [open, counts, query, range?.from, range?.to]);
  const listed = counted?.values || values;
  const whole = listed.reduce((max, [, n]) => Math.max(max, n), 0);
  const id = `facet-${name.replace(/[^A-Za-z0-9_]/g, '-')}`;
  return html`<section class="facet">
    <h3>
      <button type="button" class="plain facet-name" aria-expanded=${String(open)} aria-controls=${id} onClick=${() => onOpen(name, !open)}>
        <${Icon} name=${open ? 'down' : 'right'} /><span class="name">${name}</span>
        ${counts && !counted?.values ? null : html`<span class="count" title=${`${count(counts ? listed.length : distinct)} different values${coverage ? `, in ${coverage} of the records` : ''}`}>${short(counts ? listed.length : distinct)}${counts && listed.length === more ? '+' : ''}</span>`}
      </button>
    </h3>
    ${open &&
    html`<div class="facet-tools" role="group" aria-label=${name}>
        <button type="button" class="plain tool" aria-pressed=${String(by === name)} onClick=${() => onBy(by === name ? 'level' : name)}>colour</button>
        ${name !== 'level' && name !== 'service_name' && html`<button type="button" class="plain tool" aria-pressed=${String(columns.includes(name))} onClick=${() => onColumn(name)}>column</button>`}
        ${!exact && !counts && html`<button type="button" class="plain tool" disabled=${Boolean(counted?.busy)} onClick=${countAll} title="Reads all records of the range">count all</button>`}
      </div>
      <div id=${id}>
      ${counted?.error && html`<p class="facet-note error" role="alert">${counted.error.message}</p>`}
      <ul>${listed.slice(0, all ? more : shown).map(([value, n]) => html`<${Value} key=${value} ...${{ name, value, n, whole, query, onFilter, parser }} />`)}</ul>
      ${listed.length > shown && html`<button type="button" class="plain facet-more" onClick=${() => setAll(!all)}>${all ? 'fewer' : `${Math.min(more, listed.length) - shown} more`}</button>`}
      ${counted && !counted.error && !counts && html`<p class="facet-note" role="status">${counted.busy ? 'counting …' : 'all records counted'}</p>`}
    </div>`}
  </section>`;
}

/** Facets is the side panel. */
export function Facets({ search, state, onFilter, onBy, columns, onColumn }) {
  const [find, setFind] = useState('');
  const { records, histogram, query, range } = search;
  const [opened, setOpened] = useState({}); // by name
  const first = Math.min(records.length, sample);
  const counts = useMemo(() => summarize(records.slice(0, sample)), [records, first]);
  const before = useRef([]); // what is shown until there are records again
  if (records.length || search.status !== 'loading') before.current = counts;
  const fields = before.current;
  const onOpen = (name, open) => setOpened((now) => ({ ...now, [name]: open }));
  const isOpen = (name, initial) => opened[name] ?? initial;
  const rest = { query, range, onFilter, onBy, by: state.by, columns, onColumn, onOpen };
  const counted = (map) => [...map].sort((a, b) => b[1] - a[1]);
  const byLevel = histogram ? [...histogram.level].sort((a, b) => levels.indexOf(b[0]) - levels.indexOf(a[0])) : [];
  const note = `of ${search.more || records.length > sample ? 'the first ' : ''}${count(first)} records in the list`;
  const ofRecords = (name) => {
    const values = new Map();
    for (const one of records.slice(0, sample)) if (one[name]) values.set(one[name], (values.get(one[name]) || 0) + 1);
    return values;
  };
  const ofFields = (name) => fields.find((one) => one.name === name)?.values || new Map();
  const whole = !parse(toLogQL(query)).stages.length; // counting values of a label reads no records
  const isFound = (name) => name.toLowerCase().includes(find.toLowerCase());
  const labels = [
    { name: 'level', values: byLevel, exact: true, initial: true },
    { name: 'service_name', values: counted(histogram?.service || new Map()), exact: true, initial: true },
    ...search.labels.map((name) => ({ name, values: top(ofFields(name), more), exact: false, initial: false, counts: whole, parser: inSelector })),
    ...['instance', 'source'].map((name) => ({ name, values: top(ofRecords(name), more), exact: false, initial: false })),
  ].filter((one) => (one.values.length || one.counts) && isFound(one.name));
  return html`<div class="facets-inner">
    <div class="facet-search"><${Icon} name="search" /><input type="search" placeholder="Find a field" aria-label="Find a field" value=${find} onInput=${(e) => setFind(e.target.value)} /></div>
    ${labels.map((one) => html`<${Facet} key=${one.name} ...${one} open=${isOpen(one.name, one.initial)} distinct=${one.values.length} ...${rest} />`)}
    ${fields.length > 0 && html`<h2 class="facets-title">Fields of messages</h2><p class="facets-note">Counts are ${note}.</p>`}
    ${fields.filter((f) => isFound(f.name) && !search.labels.includes(f.name)).map(
      (f) => html`<${Facet}
        key=${f.name} name=${f.name} values=${top(f.values, more)} distinct=${f.values.size} coverage=${percent(f.records, first)} parser=${f.parser}
        open=${isOpen(f.name, false)} ...${rest} />`,
    )}
    ${!records.length && search.kind === 'log' && html`<p class="facet-note">Fields of messages are listed when there are records.</p>`}
  </div>`;
}
