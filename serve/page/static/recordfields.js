// The fields of a record, and the identifiers in its message, with what can be done with each.

import { html, useEffect, useState } from './vendor/htm-preact.js';
import { count } from './format.js';
import { fieldsOf, identifiersOf, stageOf } from './fields.js';
import { filterOf } from './logql.js';
import { countValues } from './search.js';
import { cut, printable, Text } from './text.js';
import { Button, copy, notify } from './ui.js';

const topValues = 10;

/** Top are the most frequent values of a field in all records of the query. */
function Top({ name, parser, found, onFilter }) {
  const [counted, setCounted] = useState({ busy: true }); // or {values} or {error}
  useEffect(() => {
    const controller = new AbortController();
    countValues(found.listed, name, parser, found.range, topValues, controller.signal).then(
      (values) => setCounted({ values }),
      (error) => error.name !== 'AbortError' && setCounted({ error }),
    );
    return () => controller.abort();
  }, [name, found.listed, found.range]);
  if (counted.error) return html`<p class="bad" role="alert">${counted.error.message}</p>`;
  if (counted.busy) return html`<p class="remark working" role="status">Counting …</p>`;
  return html`<ol class="top-values" aria-label=${`Top values of ${name}`}>
    ${counted.values.map(([value, n]) => html`<li key=${value}><button type="button" class="plain" title=${`Only ${name} with this value`} onClick=${() => onFilter(name, value, 'in', parser)}>${printable(cut(value, 200))}</button><span class="count">${count(n)}</span></li>`)}
    ${!counted.values.length && html`<li class="remark">No values</li>`}
  </ol>`;
}

/** Row is a field, or an identifier in the message if name is empty. */
function Row({ name, value, parser, own, found, query, columns, actions }) {
  const [open, setOpen] = useState(false);
  const [tops, setTops] = useState(false);
  const mode = name ? filterOf(query, name, value) : '';
  const title = name || 'identifier';
  const id = `field-${title.replace(/[^A-Za-z0-9_]/g, '-')}-${own ? 'own' : ''}`;
  const field = [name, value, parser];
  return html`<tr class=${mode}>
      <th scope="row">${title}</th>
      <td><bdi dir="ltr"><${Text} text=${cut(value, 2000)} /></bdi></td>
      <td class="actions">
        ${name &&
        html`<${Button} icon="plus" iconOnly label=${`Only ${name} with this value`} pressed=${mode === 'in'} onClick=${() => actions.onFilter(name, value, 'in', parser)} />
          <${Button} icon="minus" iconOnly label=${`Exclude ${name} with this value`} pressed=${mode === 'out'} onClick=${() => actions.onFilter(name, value, 'out', parser)} />`}
        <${Button} icon="copy" iconOnly label=${`Copy ${title}`} onClick=${async () => (await copy(value)) && notify(`${title} copied`)} />
        <${Button} icon=${open ? 'down' : 'left'} iconOnly label=${`More of ${title}`} aria-expanded=${String(open)} onClick=${() => setOpen(!open)} />
      </td>
    </tr>
    ${open &&
    html`<tr class="field-more"><td colspan="3" id=${id}>
      <button type="button" class="plain tool" onClick=${() => actions.onFind(...field)}>find in all services</button>
      <button type="button" class="plain tool" title="The same value, 5 minutes before and after" onClick=${() => actions.onAround(...field)}>around this time</button>
      ${name &&
      html`${!own && html`<button type="button" class="plain tool" aria-pressed=${String(columns.includes(name))} onClick=${() => actions.onColumn(name)}>${columns.includes(name) ? 'remove column' : 'add column'}</button>`}
        <button type="button" class="plain tool" aria-pressed=${String(tops)} onClick=${() => setTops(!tops)}>top values</button>
        <button type="button" class="plain tool" onClick=${() => actions.onChartBy(name, parser)}>chart by</button>`}
      ${tops && html`<${Top} name=${name} parser=${parser} found=${found} onFilter=${actions.onFilter} />`}
    </td></tr>`}`;
}

const findFrom = 20;

/** RecordFields lists the fields of a whole record. */
export function RecordFields({ record, query, found, columns, actions }) {
  const [find, setFind] = useState('');
  const { parser, values } = fieldsOf(record);
  const labels = [['service_name', record.service], ['level', record.level], ['instance', record.instance], ['source', record.source]].filter(([, value]) => value);
  const names = Object.keys(values).filter((name) => values[name] !== '').sort();
  const shown = names.filter((name) => `${name} ${values[name]}`.toLowerCase().includes(find.toLowerCase()));
  const of = {
    ...actions,
    onFind: (name, value, stage) => actions.onFind(record, name, value, stage),
    onAround: (name, value, stage) => actions.onAround(record, name, value, stage),
  };
  const rest = { query, found, columns, actions: of };
  const identifiers = identifiersOf(record);
  return html`<section aria-label="Fields" class="detail-fields">
    <header>
      <h3>Fields</h3>
      ${parser && html`<span class="remark">found by <code>| ${parser}</code></span>`}
      ${names.length > findFrom && html`<input type="search" placeholder=${`Find in ${names.length}`} aria-label="Find a field of the record" value=${find} onInput=${(e) => setFind(e.target.value)} />`}
    </header>
    <table><tbody>
      ${labels.map(([name, value]) => html`<${Row} key=${`own ${name}`} own ...${{ name, value, ...rest }} parser="" />`)}
      ${identifiers.map((value) => html`<${Row} key=${`identifier ${value}`} name="" value=${value} parser="" ...${rest} />`)}
      ${shown.map((name) => html`<${Row} key=${name} ...${{ name, value: values[name], ...rest }} parser=${stageOf(record, name)} />`)}
    </tbody></table>
    ${!names.length && !identifiers.length && html`<p class="remark">The record has no other fields.</p>`}
  </section>`;
}
