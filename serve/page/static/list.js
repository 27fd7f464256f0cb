// The list of records. Only the rows in view are elements: it is as smooth with 100,000 records as with 100.

import { Component, html } from './vendor/htm-preact.js';
import { fieldsOf, readable, valueOf } from './fields.js';
import { Heights } from './heights.js';
import { cut, Text } from './text.js';
import { formatClock, formatTime } from './time.js';

const overscan = 8;
const lineHeight = 20;
const most = { 1: 1500, 3: 4000, all: 16_384 };
const above = 26; // the header
const arrow = 30; // where a click expands a record, from its left

/** rowHeight is the height of a record in pixels; of one with all lines, the least. */
const rowHeight = (lines) => lineHeight * (lines === 'all' ? 1 : lines) + 2;

class Row extends Component {
  shouldComponentUpdate(next) {
    const now = this.props;
    return ['record', 'index', 'selected', 'layout', 'marks', 'at', 'expanded', 'own'].some((name) => next[name] !== now[name]);
  }

  render({ record, id, index, selected, layout, marks, at, expanded, own }) {
    const { columns, lines, zone, dated, services, raw } = layout;
    const text = raw ? record.line : readable(record);
    const length = expanded ? most.all : most[lines];
    const long = text.length > length || record.bytes !== undefined;
    return html`<div
      class=${`row level-${record.level} ${selected ? 'selected' : ''} ${own ? 'own' : ''} ${expanded ? 'whole expanded' : lines === 'all' ? 'whole' : ''}`} role="row" id=${`${id}-${index}`}
      aria-rowindex=${index + 2} aria-selected=${String(selected)} aria-current=${own ? 'true' : undefined} data-index=${index} style=${{ transform: `translateY(${at}px)` }}>
      <span class="cell time" role="gridcell">${dated ? formatTime(record.ms, zone, 3) : formatClock(record.ms, zone, 3, record.below)}</span>
      <span class="cell level" role="gridcell">${record.level}</span>
      ${services && html`<span class="cell service" role="gridcell"><bdi dir="ltr"><${Text} text=${record.service} oneLine /></bdi></span>`}
      ${columns.map((name) => {
        const value = valueOf(record, name);
        return html`<span class=${`cell field ${value === undefined ? 'missing' : ''}`} role="gridcell"><bdi dir="ltr">${value === undefined ? '–' : html`<${Text} text=${cut(value, 300)} oneLine />`}</bdi></span>`;
      })}
      <span class="cell message" role="gridcell"><bdi dir="ltr"><${Text} text=${cut(text, length)} marks=${marks} oneLine=${lines === 1 && !expanded} raw=${raw} /></bdi>${long && html`<span class="cut">… cut</span>`}</span>
      ${expanded && html`<${Expansion} record=${record} />`}
    </div>`;
  }
}

const maxPairs = 100;

/** Expansion are the fields of a record below its message. */
function Expansion({ record }) {
  const { values } = fieldsOf(record);
  const all = [['instance', record.instance], ['source', record.source], ...Object.keys(values).sort().map((name) => [name, values[name]])].filter(([, value]) => value);
  return html`<span class="cell pairs" role="gridcell">
    ${all.slice(0, maxPairs).map(([name, value]) => html`<span class="pair" key=${name}><span class="name">${name}</span> <bdi dir="ltr"><${Text} text=${cut(value, 300)} oneLine /></bdi></span>`)}
    ${all.length > maxPairs && html`<span class="pair">… ${all.length - maxPairs} more</span>`}
  </span>`;
}

/** Head is a column's title, which sorts by it; Message does not sort. */
const Head = ({ name, title, class: className = '', layout, onSort }) => {
  const { sort = '' } = layout;
  const direction = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
  if (!onSort) return html`<span class=${`cell ${className}`} role="columnheader" title=${name}>${title}</span>`;
  return html`<span class=${`cell ${className}`} role="columnheader" aria-sort=${direction}>
    <button type="button" class=${`plain sort ${direction}`} title=${`Sort by ${title}`} onClick=${() => onSort(name)}>${title}</button>
  </span>`;
};

/** Heads are the titles of the columns. */
class Heads extends Component {
  shouldComponentUpdate(next) {
    return next.layout !== this.props.layout || next.onSort !== this.props.onSort;
  }

  render({ layout, onSort }) {
    const head = { layout, onSort };
    return html`<div class="row head" role="row" aria-rowindex="1">
      <${Head} name="time" title="Time" ...${head} /><${Head} name="level" title="Level" class="level" ...${head} />
      ${layout.services && html`<${Head} name="service_name" title="Service" class="service" ...${head} />`}
      ${layout.columns.map((name) => html`<${Head} key=${name} name=${name} title=${name} ...${head} />`)}
      <${Head} name="message" title="Message" layout=${layout} />
    </div>`;
  }
}

/**
 * List shows records. The grid has the focus, aria-activedescendant is the selected row. With center, the list begins around its row, and
 * that stays where it is when there are more records before it.
 */
export class List extends Component {
  constructor(props) {
    super(props);
    this.state = { top: 0, height: 600 };
    this.follows = true;
    this.centred = true; // until the user scrolls
    this.expanded = new Set();
    this.heights = new Heights(rowHeight(props.layout.lines));
  }

  componentDidMount() {
    this.observer = new ResizeObserver(() => this.setState({ height: this.view.clientHeight }));
    this.observer.observe(this.view);
    this.setState({ height: this.view.clientHeight });
    this.scrollTo(this.props.selected);
    this.measure();
    this.toCenter();
  }

  componentWillUnmount() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  componentDidUpdate(before) {
    const { selected, follow, records, resetKey, layout, center } = this.props;
    if (this.wanted !== undefined) this.view.scrollTop = this.wanted;
    this.wanted = undefined;
    if (before.resetKey !== resetKey) {
      this.expanded.clear();
      this.view.scrollTop = 0;
    }
    if (before.resetKey !== resetKey || before.layout.lines !== layout.lines) {
      this.heights = new Heights(rowHeight(layout.lines));
      this.setState({ top: this.view.scrollTop });
    }
    const moved = center !== undefined && before.center !== center;
    if (moved) {
      this.centred = false;
      const { heights } = this;
      this.heights = new Heights(rowHeight(layout.lines));
      for (const [row, higher] of heights.more) this.heights.set(row + center - before.center, this.heights.usual + higher);
      this.moveTo(this.view.scrollTop + this.heights.top(center) - heights.top(before.center));
    }
    this.measure();
    if (follow && this.follows && records.length) this.view.scrollTop = this.view.scrollHeight;
    else if (before.selected !== selected && !moved) this.scrollTo(selected);
    if (before.layout.lines !== layout.lines) this.centred = true;
    this.toCenter();
    this.readMore();
  }

  /** measure takes the heights of the rows in view; what the first of them shows stays where it is. */
  measure() {
    if (this.props.layout.lines !== 'all' && !this.expanded.size && !this.heights.more.size) return; // as usual, and asking takes time
    const top = this.wanted ?? this.view.scrollTop;
    const first = this.heights.at(top);
    const place = this.heights.top(first);
    const usual = rowHeight(this.props.layout.lines);
    let changed = false;
    for (const row of this.view.querySelectorAll('.rows > .row')) {
      const height = row.classList.contains('whole') ? row.offsetHeight : usual;
      changed = this.heights.set(Number(row.dataset.index), height) || changed;
    }
    if (!changed) return;
    this.moveTo(top + this.heights.top(first) - place);
  }

  /** moveTo scrolls to a place, which the list may only have when it is rendered with its new heights. */
  moveTo(top) {
    this.view.scrollTop = top;
    if (Math.abs(this.view.scrollTop - top) > 1) this.wanted = top;
    this.setState({ top });
  }

  /** toCenter brings the row of center into the middle, also when heights become known. */
  toCenter() {
    const { center } = this.props;
    if (center !== undefined && this.centred) this.view.scrollTop = this.heights.top(center) - (this.view.clientHeight - above - rowHeight(1)) / 2;
  }

  /** scrollTo brings a row into view. */
  scrollTo(index) {
    if (index < 0 || !this.view || this.props.center !== undefined) return;
    const [top, end] = [this.heights.top(index), this.heights.top(index + 1)];
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (end + above > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = Math.min(top, end + above - this.view.clientHeight);
  }

  readMore() {
    const { records, onMore } = this.props;
    const end = this.state.top + this.state.height * 3;
    if (onMore && end > this.heights.top(records.length)) onMore();
  }

  onTouch = () => {
    this.centred = false;
  };

  onScroll = () => {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.view) return;
      this.follows = this.view.scrollTop + this.view.clientHeight >= this.view.scrollHeight - 30;
      this.setState({ top: this.view.scrollTop });
    });
  };

  toggle(index) {
    const record = this.props.records[index];
    if (!this.expanded.delete(record)) this.expanded.add(record);
    this.setState({});
  }

  onClick = (e) => {
    if (window.getSelection()?.type === 'Range') return; // text is being selected
    const row = e.target.closest('.row[data-index]');
    if (!row) return;
    const time = e.target.closest('.time'); // the arrow in it is none of the elements, of which there would be many
    if (time && e.clientX - row.getBoundingClientRect().left < arrow) this.toggle(Number(row.dataset.index));
    else this.props.onOpen(Number(row.dataset.index));
  };

  onKeyDown = (e) => {
    const { records, selected, layout, onSelect, onOpen } = this.props;
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== this.view) return;
    const page = Math.max(1, Math.floor(this.state.height / rowHeight(layout.lines)) - 2);
    const move = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
    const open = selected >= 0 && selected < records.length;
    if (move !== undefined && records.length) {
      onSelect(Math.max(0, Math.min(records.length - 1, (selected < 0 ? this.heights.at(this.state.top) - Math.sign(move) * (move > 0 ? 1 : 0) : selected) + move)));
    } else if (e.key === 'Enter' && open) onOpen(selected);
    else if (e.key === ' ' && open) this.toggle(selected);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  render({ records, selected, layout, marks, busy, end, id = 'records', label = 'Records', center, onSort }, { top, height }) {
    const { heights } = this;
    const rowId = id.replace(/s$/, '');
    const first = Math.max(0, heights.at(Math.max(0, top - above)) - overscan);
    const last = Math.min(records.length, heights.at(top + height) + 1 + overscan);
    const rows = [];
    for (let i = first; i < last; i++) {
      rows.push(html`<${Row} key=${i} record=${records[i]} id=${rowId} index=${i} at=${heights.top(i)} selected=${i === selected} own=${i === center} ...${{ layout, marks }} expanded=${this.expanded.has(records[i])} />`);
    }
    return html`<div
      class=${`list lines-${layout.lines}`} role="grid" aria-label=${label}
      id=${id} tabindex="0" aria-rowcount=${records.length + 1} aria-busy=${String(Boolean(busy))}
      aria-activedescendant=${selected >= first && selected < last ? `${rowId}-${selected}` : undefined} ref=${(el) => (this.view = el)}
      onScroll=${this.onScroll} onWheel=${this.onTouch} onPointerDown=${this.onTouch} onKeyDownCapture=${this.onTouch} onClick=${this.onClick} onKeyDown=${this.onKeyDown} style=${layout.style}>
      <${Heads} layout=${layout} onSort=${onSort} />
      <div class="rows" role="rowgroup" style=${{ height: `${heights.top(records.length)}px` }}>${rows}</div>
      <div class="list-end" role="presentation">${end}</div>
    </div>`;
  }
}
