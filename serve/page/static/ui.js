// Parts that several views use.

import { html, useEffect, useLayoutEffect, useRef, useState } from './vendor/htm-preact.js';

const icons = {
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Zm3.4 7.9 3.1 3.1',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 3v3.3l2.2 1.4',
  play: 'M5 3.2v9.6L12.6 8 5 3.2Z',
  stop: 'M4.2 4.2h7.6v7.6H4.2z',
  live: 'M8 6.6a1.4 1.4 0 1 0 0 2.8 1.4 1.4 0 0 0 0-2.8ZM4.6 11.4a4.8 4.8 0 0 1 0-6.8m6.8 0a4.8 4.8 0 0 1 0 6.8M2.6 13.4a7.6 7.6 0 0 1 0-10.8m10.8 0a7.6 7.6 0 0 1 0 10.8',
  plus: 'M8 3.5v9M3.5 8h9',
  minus: 'M3.5 8h9',
  close: 'm4 4 8 8m0-8-8 8',
  down: 'm4 6 4 4 4-4',
  right: 'm6 4 4 4-4 4',
  copy: 'M6 5.5h7v8H6zM3.5 10.5h-1v-8h7v1',
  link: 'M6.8 9.2a2.4 2.4 0 0 0 3.4 0l2.3-2.3a2.4 2.4 0 0 0-3.4-3.4l-.8.8m1 2.5a2.4 2.4 0 0 0-3.4 0L3.6 9.1A2.4 2.4 0 0 0 7 12.5l.8-.8',
  download: 'M8 2.5v7.2m-3-2.6 3 2.9 3-2.9M3 13h10',
  terminal: 'm3 4.5 3.2 3.2L3 11m5 .5h5',
  columns: 'M2.5 3.5h11v9h-11zM6.2 3.5v9m3.6-9v9',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.5v1.3m0 10.4v1.3M1.5 8h1.3m10.4 0h1.3M3.4 3.4l.9.9m7.4 7.4.9.9m0-9.2-.9.9m-7.4 7.4-.9.9',
  help: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM6.3 6.4A1.7 1.7 0 1 1 8 8.2v.8m0 1.9v.2',
  filter: 'M2.5 3.5h11L9.4 8.4v4.2l-2.8-1.4V8.4z',
  warning: 'M8 2.6 14 13H2L8 2.6ZM8 6.5v3m0 1.7v.2',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.6v2.6h-2.6',
  left: 'm10 4-4 4 4 4',
  order: 'M5 3v10m-2.5-2.5L5 13l2.5-2.5M9.5 4h4m-4 4h3m-3 4h2',
  braces: 'M6 2.5c-2 0-1 5-3.2 5.5C5 8.5 4 13.5 6 13.5m4-11c2 0 1 5 3.2 5.5-2.2.5-1.2 5.5-3.2 5.5',
  swap: 'M5.5 3v10m0 0L3 10.5M5.5 13 8 10.5M10.5 13V3m0 0L8 5.5M10.5 3 13 5.5',
  bookmark: 'M4.5 2.5h7v11L8 10.4l-3.5 3.1z',
  upload: 'M8 9.7V2.5M5 5.4l3-2.9 3 2.9M3 13h10',
  split: 'M2.5 3.5h11v9h-11zM8 3.5v9',
  chart: 'M2.5 13.5h11M4 11V8m4 3V3m4 8V6',
  calendar: 'M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.2v3m5-3v3',
  rows: 'M2.5 4h11m-11 4h11m-11 4h7',
};

/** Icon is a drawing without a name: what has it, has one. */
export const Icon = ({ name }) =>
  html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${icons[name]} /></svg>`;

/** Button is a button with an icon; label is its accessible name, and its text unless it has children. */
export function Button({ icon, label, children, hint, pressed, class: className = '', iconOnly, ...rest }) {
  return html`<button
    type="button" class=${`button ${iconOnly ? 'icon-only' : ''} ${className}`} title=${hint || (iconOnly ? label : undefined)}
    aria-label=${iconOnly ? label : undefined} aria-pressed=${pressed === undefined ? undefined : String(pressed)} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}${!iconOnly && (children || html`<span>${label}</span>`)}
  </button>`;
}

const focusable = 'button:not([disabled]), input, select, textarea, a[href], [tabindex="0"]';

/** Popover is a button that opens a panel. Escape and a click elsewhere close it, and the button has the focus again. load imports a module that the panel needs, when it opens first. */
export function Popover({ id, icon, label, text, hint, class: className = '', panelClass = '', children, load, buttonClass = '', iconOnly }) {
  const [open, setOpen] = useState(false);
  const [module, setModule] = useState(null);
  const root = useRef();
  const button = () => root.current.querySelector('button');
  const close = () => {
    setOpen(false);
    button().focus();
  };
  // Before the next key is pressed.
  useLayoutEffect(() => {
    if (!open) return undefined;
    const outside = (e) => !root.current.contains(e.target) && setOpen(false);
    document.addEventListener('pointerdown', outside);
    const first = root.current.querySelector('.panel [autofocus]') || root.current.querySelector(`.panel :is(${focusable})`);
    first?.focus();
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);
  useLayoutEffect(() => {
    const panel = open && root.current.querySelector('.panel');
    if (!panel) return undefined;
    const place = () => {
      panel.style.transform = '';
      const box = panel.getBoundingClientRect();
      const beyond = Math.max(0, box.right - (document.documentElement.clientWidth - 8));
      const shift = beyond ? -Math.min(beyond, Math.max(0, box.left - 8)) : Math.max(0, 8 - box.left);
      if (shift) panel.style.transform = `translateX(${shift}px)`;
    };
    place();
    window.addEventListener('resize', place);
    return () => window.removeEventListener('resize', place);
  }, [open]);
  const onKeyDown = (e) => {
    if (e.key === 'Escape' && open) {
      e.stopPropagation();
      close();
    }
  };
  const onFocusOut = (e) => open && e.relatedTarget && !root.current.contains(e.relatedTarget) && setOpen(false);
  return html`<div class=${`popover ${className}`} ref=${root} onKeyDown=${onKeyDown} onFocusOut=${onFocusOut}>
    <${Button}
      id=${id} icon=${icon} label=${label} hint=${hint} iconOnly=${iconOnly} aria-expanded=${String(open)} aria-haspopup="dialog"
      class=${buttonClass} onClick=${async () => {
        try {
          if (!open && load && !module) setModule(await load());
          setOpen(!open);
        } catch {
          notify('Cannot load this panel: no connection');
        }
      }}>${text}<//>
    ${open && html`<div class=${`panel ${panelClass}`} role="dialog" aria-label=${label}>${children(close, module)}</div>`}
  </div>`;
}

/** Dialog is a modal dialog. */
export function Dialog({ label, onClose, children, class: className = '' }) {
  const ref = useRef();
  useLayoutEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog
    ref=${ref} class=${className} aria-label=${label} onClose=${onClose} onClick=${(e) => e.target === ref.current && ref.current.close()}>
    <header><h2>${label}</h2><${Button} icon="close" label="Close" iconOnly onClick=${() => ref.current.close()} /></header>
    <div class="dialog-body">${children}</div>
  </dialog>`;
}

/** Failure shows an error with its hints. */
export function Failure({ error, title, onRetry }) {
  return html`<div class="failure" role="alert">
    <${Icon} name="warning" />
    <div>
      <strong>${title}</strong>
      <p>${error.message}</p>
      ${(error.hints || []).map((hint) => html`<p class="hint">${hint}</p>`)}
    </div>
    ${onRetry && html`<${Button} icon="refresh" label="Try again" onClick=${onRetry} />`}
  </div>`;
}

/** copy puts a text into the clipboard; it returns false if that is not allowed. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without HTTPS there is no clipboard, apart from that of a selection.
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

let announce = () => {};

/** notify shows a text for a moment, and has it read out. */
export const notify = (text) => announce(text);

/** Notices is where notify shows texts. */
export function Notices() {
  const [text, setText] = useState('');
  useEffect(() => {
    let timer;
    announce = (next) => {
      setText(next);
      clearTimeout(timer);
      timer = setTimeout(() => setText(''), 2500);
    };
    return () => clearTimeout(timer);
  }, []);
  return html`<div class=${`notice ${text ? 'shown' : ''}`} role="status" aria-live="polite">${text}</div>`;
}

/** useChanges renders a component anew when something that can be subscribed to changes, once a frame. */
export function useChanges(source) {
  const [, again] = useState(0);
  useEffect(() => {
    let frame = 0;
    const end = source.subscribe(() => {
      if (!frame) {
        frame = requestAnimationFrame(() => {
          frame = 0;
          again((n) => n + 1);
        });
      }
    });
    again((n) => n + 1);
    return () => {
      cancelAnimationFrame(frame);
      end();
    };
  }, [source]);
  return source.get();
}

/** useWidth is the width of an element in pixels. */
export function useWidth(ref, initial) {
  const [width, setWidth] = useState(initial);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    observer.observe(ref.current);
    setWidth(Math.round(ref.current.clientWidth) || initial);
    return () => observer.disconnect();
  }, []);
  return width;
}
