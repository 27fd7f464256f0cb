// The panel of queries: those that users share, those saved in this browser, and the last ones.

import { html, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { getJSON, own } from './api.js';
import { exported, imported, linkOf, linkOfShared } from './queries.js';
import { decode } from './state.js';
import { saveText } from './csv.js';
import { printable } from './text.js';
import { formatRange } from './time.js';
import { Button, notify, useChanges } from './ui.js';

/** useShared asks the server for the queries that users share. */
function useShared(state) {
  const [shared, setShared] = useState({ busy: true, all: [] });
  useEffect(() => {
    const controller = new AbortController();
    getJSON(`${own}saved`, {}, controller.signal).then(
      ({ queries }) => setShared({ all: queries.map((one) => ({ name: one.name, link: linkOfShared(one, state) })) }),
      (error) => error.name !== 'AbortError' && setShared({ error, all: [] }),
    );
    return () => controller.abort();
  }, []);
  return shared;
}

function Item({ name, link, current, onOpen, onRemove }) {
  const state = decode(link);
  const text = state.q2 ? `${state.q}  ·  ${state.q2}` : state.q;
  return html`<li class="query-item">
    <button type="button" class="plain choice" aria-current=${link === current ? 'true' : undefined} title=${printable(text)} onClick=${() => onOpen(link)}>
      ${name && html`<span class="query-name">${printable(name)}</span>`}
      <code>${printable(text)}</code>
      <span class="remark">${formatRange(state.from, state.to, state.tz)}</span>
    </button>
    ${onRemove && html`<${Button} icon="close" iconOnly label=${`Remove ${name}`} onClick=${onRemove} />`}
  </li>`;
}

function Section({ title, all, tools, ...rest }) {
  if (!all.length) return null;
  return html`<section aria-label=${title}>
    <header><h2>${title}</h2>${tools}</header>
    <ul>${all.map((one) => html`<${Item} key=${`${one.name} ${one.link}`} ...${one} ...${rest} onRemove=${rest.onRemove && (() => rest.onRemove(one.name))} />`)}</ul>
  </section>`;
}

/** QueryPanel lists queries, saves one, exports and imports; onOpen gets the fragment of the chosen one. */
export function QueryPanel({ queries, state, onOpen, close }) {
  const { saved, recent } = useChanges(queries);
  const shared = useShared(state);
  const [find, setFind] = useState('');
  const [name, setName] = useState('');
  const [error, setError] = useState('');
  const file = useRef();
  const wanted = (one) => `${one.name || ''} ${decode(one.link).q}`.toLowerCase().includes(find.toLowerCase());
  const open = (link) => {
    onOpen(link);
    close();
  };
  const save = (e) => {
    e.preventDefault();
    if (!name.trim()) return;
    queries.save([{ name: name.trim(), link: linkOf(state) }]);
    setName('');
    notify('Query saved in this browser');
  };
  const onFile = async (e) => {
    const [chosen] = e.target.files;
    e.target.value = '';
    if (!chosen) return;
    try {
      const all = imported(await chosen.text(), state);
      queries.save(all);
      setError('');
      notify(all.length === 1 ? 'One query imported' : `${all.length} queries imported`);
    } catch (err) {
      setError(`Cannot import: ${err.message}.`);
    }
  };
  const rest = { current: linkOf(state), onOpen: open };
  const lists = [shared.all, saved, recent].map((all) => all.filter(wanted));
  return html`<div class="query-panel">
    <input type="search" autofocus placeholder="Find a query" aria-label="Find a query" value=${find} onInput=${(e) => setFind(e.target.value)} />
    <${Section} title="Shared" all=${lists[0]} ...${rest} />
    <${Section} title="Saved" all=${lists[1]} ...${rest} onRemove=${(one) => queries.remove(one)} />
    <${Section} title="Recent" all=${lists[2]} ...${rest} tools=${html`<button type="button" class="link" id="forget-queries" onClick=${() => queries.forget()}>Clear</button>`} />
    ${!lists.some((all) => all.length) && html`<p class="remark">${find ? 'No query has this in its name or text.' : 'Queries that you run or save are listed here.'}</p>`}
    ${shared.error && html`<p class="remark">Shared queries cannot be read: ${shared.error.message}</p>`}
    <form onSubmit=${save} class="query-save">
      <input id="query-name" placeholder="Name" aria-label="Name of the query" maxlength="100" value=${name} onInput=${(e) => setName(e.target.value)} />
      <button class="button" disabled=${!name.trim() || !state.q.trim()}>Save query</button>
    </form>
    <p class="query-files">
      <${Button} icon="download" class="small" id="export-queries" label="Export" hint="The saved queries as a file, which logq serve --queries reads too" disabled=${!saved.length} onClick=${() => saveText('queries.json', 'application/json', exported(saved))} />
      <${Button} icon="upload" class="small" id="import-queries" label="Import" onClick=${() => file.current.click()} />
      <input type="file" hidden ref=${file} accept=".json,application/json" aria-label="File of queries" onChange=${onFile} />
      <span class="remark">Saved and recent queries stay in this browser.</span>
    </p>
    ${error && html`<p class="bad" role="alert">${error}</p>`}
  </div>`;
}
