// The query bar: LogQL with completion, or plain words. Enter runs it; what it will read is shown before.

import { html, useEffect, useLayoutEffect, useRef, useState } from './vendor/htm-preact.js';
import { Button, Icon } from './ui.js';
import { bytes, dollars, plural } from './format.js';
import { complete } from './complete.js';
import { MatchCase, Place } from './explain.js';
import { isWhole, kind, toLogQL } from './logql.js';
import { confirmAbove, estimateOf } from './search.js';
import { resolve } from './time.js';

const placeholder = 'Words, or LogQL: {service_name="web"} |= "timeout" | json | status >= 500';

/** useEstimate asks what a query would read, shortly after it changed. */
export function useEstimate(text, state) {
  const [estimate, setEstimate] = useState(null);
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      const query = toLogQL(text, state.case === '1');
      if (!isWhole(query)) return;
      try {
        setEstimate(await estimateOf(query, resolve(state), controller.signal));
      } catch (error) {
        if (error.name !== 'AbortError') setEstimate({ error });
      }
    }, 250);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text, state.case, state.from, state.to, state.tz]);
  return estimate;
}

/** Cost is what a query reads at most. */
export function Cost({ estimate }) {
  if (!estimate || estimate.error) return html`<span class="cost" id="cost">${estimate?.error?.status === 400 ? '' : ' '}</span>`;
  return html`<span class="cost" id="cost" title="The most that the query can read, before the token filter, columns and caches leave out parts">
    Reads at most <b>${plural(estimate.segments, 'segment')}</b>, <b>${bytes(estimate.bytes)}</b>${estimate.cost_usd > 0 && html`, <b class=${estimate.cost_usd > confirmAbove ? 'warn' : ''}>${dollars(estimate.cost_usd)}</b>`}
  </span>`;
}

/** useFittingHeight makes a text area as high as its text, also after its width changed. */
function useFittingHeight(area, text) {
  const fit = () => {
    if (!area.current) return;
    area.current.style.height = '0';
    area.current.style.height = `${Math.min(160, area.current.scrollHeight + 2)}px`;
  };
  useLayoutEffect(fit, [text]);
  useEffect(() => {
    let width = area.current.clientWidth;
    let frame = 0;
    const observer = new ResizeObserver(() => {
      if (width === area.current.clientWidth) return;
      width = area.current.clientWidth;
      frame = requestAnimationFrame(fit); // a new height inside the callback would be a loop
    });
    observer.observe(area.current);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, []);
}

/** QueryBar edits the query; onRun gets its text. */
export function QueryBar({ text, onText, onRun, busy, onStop, values, fields, error, mistake, matchCase, onCase }) {
  const input = useRef();
  const [offers, setOffers] = useState([]);
  const [chosen, setChosen] = useState(-1);
  const asked = useRef(0);
  const cursor = useRef(null);
  useFittingHeight(input, text);
  useLayoutEffect(() => {
    if (cursor.current !== null) {
      input.current.setSelectionRange(cursor.current, cursor.current);
      cursor.current = null;
    }
  }, [text]);
  const offer = async (value, at, forced = false) => {
    const mine = ++asked.current;
    const list = kind(value) === 'words' && !forced && !/^[a-z_]+$/.test(value) ? [] : await complete(value, at, { values, fields }).catch(() => []);
    if (mine === asked.current) {
      setOffers(list);
      setChosen(forced && list.length ? 0 : -1);
    }
  };
  const hide = () => {
    asked.current++;
    setOffers([]);
    setChosen(-1);
  };
  const accept = (one) => {
    const next = text.slice(0, one.start) + one.insert + text.slice(one.end);
    cursor.current = one.start + one.insert.length - (one.back || 0) + (one.closes && next[one.start + one.insert.length] === '"' ? 1 : 0);
    onText(next);
    hide();
    input.current.focus();
    if (one.back || one.insert.endsWith('| ')) setTimeout(() => offer(next, one.start + one.insert.length - (one.back || 0)), 0);
  };
  const onInput = (e) => {
    onText(e.target.value);
    offer(e.target.value, e.target.selectionStart);
  };
  const onKeyDown = (e) => {
    if (e.key === ' ' && e.ctrlKey) offer(text, e.target.selectionStart, true);
    else if (offers.length && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) {
      setChosen((chosen + (e.key === 'ArrowDown' ? 1 : -1) + offers.length + (chosen < 0 && e.key === 'ArrowUp' ? 1 : 0)) % offers.length);
    } else if (chosen >= 0 && (e.key === 'Enter' || e.key === 'Tab')) accept(offers[chosen]);
    else if (e.key === 'Enter' && !e.shiftKey) {
      hide();
      onRun(text);
    } else if (e.key === 'Escape' && offers.length) hide();
    else if (e.key === 'Escape') input.current.blur();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  useEffect(() => {
    document.getElementById(`offer-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return html`<div class=${`querybar ${error ? 'wrong' : ''}`}>
    <${Icon} name="search" />
    <${Place} text=${text} at=${mistake} />
    <textarea
      id="query" ref=${input} rows="1" spellcheck=${false} autocapitalize="off" autocomplete="off" value=${text} placeholder=${placeholder}
      aria-label="Query" aria-controls="offers" aria-autocomplete="list" aria-haspopup="listbox" aria-describedby=${mistake ? 'cost mistake' : 'cost'} aria-invalid=${error ? 'true' : undefined}
      aria-activedescendant=${chosen >= 0 ? `offer-${chosen}` : undefined} onInput=${onInput} onKeyDown=${onKeyDown} onBlur=${() => setTimeout(hide, 150)} />
    <${MatchCase} pressed=${matchCase} disabled=${!['words', 'nothing'].includes(kind(text))} onCase=${onCase} />
    ${text && html`<${Button} icon="close" iconOnly class="clear" label="Clear the query" onClick=${() => {
      onText('');
      onRun('');
      input.current.focus();
    }} />`}
    ${busy
      ? html`<${Button} icon="stop" class="run" label="Stop" onClick=${onStop} />`
      : html`<${Button} icon="play" class="primary run" label="Run" hint="Run (Enter)" onClick=${() => onRun(text)} />`}
    <ul id="offers" role="listbox" aria-label="Completions" class=${offers.length ? '' : 'hidden'}>
      ${offers.map(
        (one, i) => html`<li role="option" id=${`offer-${i}`} key=${one.insert} aria-selected=${String(i === chosen)} onPointerDown=${(e) => {
          e.preventDefault();
          accept(one);
        }}><code>${one.insert.trim()}</code><span>${one.note}</span></li>`,
      )}
    </ul>
  </div>`;
}
