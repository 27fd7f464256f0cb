// Keys that work everywhere but in inputs. The help lists them.

const click = (id) => () => document.getElementById(id)?.click();
const focus = (id) => () => document.getElementById(id)?.focus();

const bindings = {
  '/': focus('query'),
  h: focus('histogram'),
  t: click('range'),
  s: click('services'),
  e: click('columns'),
  d: click('download'),
  x: click('command'),
  q: click('queries'),
  m: click('statistics'),
  2: click('split'),
  b: (a) => a.onCompare(),
  f: (a) => a.onFacets(),
  r: (a) => a.again(),
  a: click('case'),
  l: (a) => a.onLive(),
  o: (a) => a.onOrder(),
  w: (a) => a.onLines(),
  p: (a) => a.onView(),
  y: (a) => a.onLink(),
  v: (a) => a.onTheme(),
  c: (a) => a.onContext(),
  '[': (a) => a.onShift(-1),
  ']': (a) => a.onShift(1),
  '-': (a) => a.onZoomOut(),
  '?': (a) => a.onHelp(),
  j: (a) => a.onMove(1),
  k: (a) => a.onMove(-1),
  i: (a) => a.onFormat(),
  Escape(a) {
    if (a.facetsOpen) a.closeFacets();
    else if (a.open) a.onClose();
  },
};

/** bindKeys listens; actions returns what keys do at the moment. It returns what ends it. */
export function bindKeys(actions) {
  const onKeyDown = (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (e.target.closest('input, textarea, select, dialog, .panel') && e.key !== 'Escape') return;
    if (e.target.closest('dialog')) return;
    const f = Object.hasOwn(bindings, e.key) && bindings[e.key];
    if (!f) return;
    e.preventDefault();
    f(actions());
  };
  document.addEventListener('keydown', onKeyDown);
  return () => document.removeEventListener('keydown', onKeyDown);
}
