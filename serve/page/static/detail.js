// One record with all of its fields, the whole of its message, and the records around it.

import { html, useEffect, useMemo, useState } from './vendor/htm-preact.js';
import { Button, Failure, copy, notify } from './ui.js';
import { nanosOf, readAll } from './api.js';
import { bytes } from './format.js';
import { Context } from './context.js';
import { filterOf, toLogQL } from './logql.js';
import { fieldsOf, stageOf } from './fields.js';
import { formatOffset, formatTime } from './time.js';
import { cut, Text } from './text.js';

const shownAtFirst = 20_000;

/** wholeOf reads a record whose line was cut. */
async function wholeOf(record, query, signal) {
  const at = nanosOf(record);
  const all = await readAll({ query, start: at.toString(), end: (at + 1n).toString(), direction: 'forward' }, signal);
  return all.find((one) => one.service === record.service && one.instance === record.instance && one.line.startsWith(record.line.slice(0, -4)));
}

function Message({ record, query, marks, raw }) {
  const [whole, setWhole] = useState(null); // {line} or {error} or {busy}
  const [all, setAll] = useState(false);
  useEffect(() => {
    setWhole(null);
    setAll(false);
  }, [record]);
  const line = whole?.line ?? record.line;
  const isCut = record.bytes !== undefined && whole?.line === undefined;
  const show = async () => {
    setAll(true);
    if (!isCut) return;
    setWhole({ busy: true });
    try {
      const found = await wholeOf(record, query);
      setWhole(found ? { line: found.line } : { error: new Error('the record no longer exists') });
    } catch (error) {
      setWhole({ error });
    }
  };
  const pretty = useMemo(() => prettyJSON(line), [line]);
  const [formatted, setFormatted] = useState(false);
  const text = formatted && pretty ? pretty : line;
  const visible = all ? text : cut(text, shownAtFirst);
  const copyMessage = async () => {
    const full = isCut ? (await wholeOf(record, query))?.line : line;
    if (full !== undefined && (await copy(full))) notify('Message copied');
  };
  return html`<section class="detail-message" aria-label="Message">
    <header>
      <h3>Message</h3>
      ${pretty && html`<${Button} label="Format JSON" pressed=${formatted} onClick=${() => setFormatted(!formatted)} />`}
      <${Button} icon="copy" label="Copy message" iconOnly onClick=${copyMessage} />
    </header>
    ${record.invalid && html`<p class="remark">Bytes that are not UTF-8 are shown as �. A download as text has them as logged.</p>`}
    <pre tabindex="0" aria-label="Text of the message"><bdi dir="ltr"><${Text} text=${visible} marks=${all ? [] : marks} raw=${raw} /></bdi></pre>
    ${(isCut || visible.length < text.length) &&
    html`<p class="remark">
      ${whole?.busy ? 'Reading the record …' : `${bytes(visible.length)} of ${bytes(isCut ? record.bytes : text.length)} are shown.`}
      ${!whole?.busy && html` <button type="button" class="link" id="show-all" onClick=${show}>Show all</button>`}
    </p>`}
    ${whole?.error && html`<${Failure} title="Cannot read the record" error=${whole.error} />`}
  </section>`;
}

function prettyJSON(text) {
  if (text.length > 262144 || !/^\s*[{[]/.test(text)) return '';
  try {
    const pretty = JSON.stringify(JSON.parse(text), null, 2);
    return pretty === text ? '' : pretty;
  } catch {
    return '';
  }
}

function Fields({ record, query, columns, onFilter, onColumn }) {
  const { parser, values } = fieldsOf(record);
  const own = [['service_name', record.service], ['level', record.level], ['instance', record.instance], ['source', record.source]];
  const row = ([name, value], stream) => {
    if (value === '' || value === undefined) return null;
    const mode = filterOf(query, name, value);
    const needed = stageOf(record, name);
    return html`<tr key=${name} class=${mode}>
      <th scope="row">${name}</th>
      <td><bdi dir="ltr"><${Text} text=${cut(value, 2000)} /></bdi></td>
      <td class="actions">
        <${Button} icon="plus" iconOnly label=${`Only ${name} with this value`} pressed=${mode === 'in'} onClick=${() => onFilter(name, value, 'in', needed)} />
        <${Button} icon="minus" iconOnly label=${`Exclude ${name} with this value`} pressed=${mode === 'out'} onClick=${() => onFilter(name, value, 'out', needed)} />
        ${!stream && html`<${Button} icon="columns" iconOnly label=${`Column ${name}`} pressed=${columns.includes(name)} onClick=${() => onColumn(name)} />`}
        <${Button} icon="copy" iconOnly label=${`Copy ${name}`} onClick=${async () => (await copy(value)) && notify(`${name} copied`)} />
      </td>
    </tr>`;
  };
  const found = Object.keys(values);
  return html`<section aria-label="Fields" class="detail-fields">
    <header><h3>Fields</h3>${parser && html`<span class="remark">found by <code>| ${parser}</code></span>`}</header>
    <table><tbody>${own.map((one) => row(one, true))}${found.sort().map((name) => row([name, values[name]], false))}</tbody></table>
    ${!found.length && html`<p class="remark">The record has no other fields.</p>`}
  </section>`;
}

/** Detail is the panel beside the list. */
export function Detail({ record, index, total, query, state, marks, columns, tab, onTab, onFilter, onColumn, onClose, onMove }) {
  const tabs = [['fields', 'Record'], ['context', 'Context']];
  const digits = record.below && record.below !== '000000' ? 9 : 3;
  return html`<aside class=${`detail level-${record.level}`} aria-label="Record">
    <h2 class="sr">Record</h2>
    <header class="detail-head">
      <span class=${`badge level-${record.level}`}>${record.level}</span>
      <time datetime=${record.time}>${formatTime(record.ms, state.tz, digits, record.below)} <span class="remark">${formatOffset(record.ms, state.tz)}</span></time>
      <span class="detail-buttons">
        <${Button} icon="left" class="up" iconOnly label="Previous record" disabled=${index <= 0} onClick=${() => onMove(-1)} />
        <${Button} icon="right" class="up" iconOnly label="Next record" disabled=${index >= total - 1} onClick=${() => onMove(1)} />
        <${Button} icon="close" iconOnly label="Close record" onClick=${onClose} />
      </span>
    </header>
    <div class="tabs" role="group" aria-label="Record or context">
      ${tabs.map(([id, text]) => html`<button type="button" key=${id} id=${`tab-${id}`} aria-pressed=${String(tab === id)} onClick=${() => onTab(id)}>${text}</button>`)}
    </div>
    <div class=${`detail-body ${tab}`}>
      ${tab === 'context'
        ? html`<${Context} key=${record.time + index} ...${{ record, state, columns, marks }} />`
        : html`<${Message} ...${{ record, marks }} raw=${state.format === 'raw'} query=${toLogQL(query)} /><${Fields} ...${{ record, query, columns, onFilter, onColumn }} />`}
    </div>
  </aside>`;
}
