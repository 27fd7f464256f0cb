// The list of records. Only the rows in view are elements: it is as smooth with 100,000 records as with 100.

import { Component, html } from './vendor/htm-preact.js';
import { cut, Text } from './text.js';
import { formatClock, formatTime } from './time.js';
import { readable, valueOf } from './fields.js';

const overscan = 8;
const lineHeight = 20;
const most = { 1: 1500, 3: 4000 };
const above = 26; // the header

/** rowHeight is the height of a record with so many lines, in pixels. */
export const rowHeight = (lines) => lineHeight * lines + 2;

class Row extends Component {
  shouldComponentUpdate(next) {
    const now = this.props;
    return (
      next.record !== now.record || next.index !== now.index || next.selected !== now.selected || next.layout !== now.layout ||
      next.marks !== now.marks || next.at !== now.at
    );
  }

  render({ record, index, selected, layout, marks, at }) {
    const { columns, lines, zone, dated, services, raw } = layout;
    const text = raw ? record.line : readable(record);
    const long = record.line.length > most[lines] || record.bytes !== undefined;
    return html`<div
      class=${`row level-${record.level} ${selected ? 'selected' : ''}`} role="row" id=${`record-${index}`} aria-rowindex=${index + 2}
      aria-selected=${String(selected)} data-index=${index} style=${{ transform: `translateY(${at}px)` }}>
      <span class="cell time" role="gridcell">${dated ? formatTime(record.ms, zone, 3) : formatClock(record.ms, zone, 3, record.below)}</span>
      <span class="cell level" role="gridcell">${record.level}</span>
      ${services && html`<span class="cell service" role="gridcell"><bdi dir="ltr"><${Text} text=${record.service} oneLine /></bdi></span>`}
      ${columns.map((name) => {
        const value = valueOf(record, name);
        return html`<span class=${`cell field ${value === undefined ? 'missing' : ''}`} role="gridcell"><bdi dir="ltr">${value === undefined ? '–' : html`<${Text} text=${cut(value, 300)} oneLine />`}</bdi></span>`;
      })}
      <span class="cell message" role="gridcell"><bdi dir="ltr"><${Text} text=${cut(text, most[lines])} marks=${marks} oneLine=${lines === 1} /></bdi>${long && html`<span class="cut">… cut</span>`}</span>
    </div>`;
  }
}

/** List shows records. The grid has the focus, aria-activedescendant is the selected row. */
export class List extends Component {
  constructor(props) {
    super(props);
    this.state = { top: 0, height: 600 };
    this.follows = true;
  }

  componentDidMount() {
    this.observer = new ResizeObserver(() => this.setState({ height: this.view.clientHeight }));
    this.observer.observe(this.view);
    this.setState({ height: this.view.clientHeight });
    this.scrollTo(this.props.selected);
  }

  componentWillUnmount() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  componentDidUpdate(before) {
    const { selected, follow, records, resetKey } = this.props;
    if (before.resetKey !== resetKey) this.view.scrollTop = 0;
    if (follow && this.follows && records.length) this.view.scrollTop = this.view.scrollHeight;
    else if (before.selected !== selected) this.scrollTo(selected);
    this.readMore();
  }

  /** scrollTo brings a row into view. */
  scrollTo(index) {
    if (index < 0 || !this.view) return;
    const each = rowHeight(this.props.layout.lines);
    const top = index * each;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (top + each + above > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = top + each + above - this.view.clientHeight;
  }

  readMore() {
    const { records, layout, onMore } = this.props;
    const end = this.state.top + this.state.height * 3;
    if (onMore && end > records.length * rowHeight(layout.lines)) onMore();
  }

  onScroll = () => {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.view) return;
      this.follows = this.view.scrollTop + this.view.clientHeight >= this.view.scrollHeight - 30;
      this.setState({ top: this.view.scrollTop });
    });
  };

  onClick = (e) => {
    if (window.getSelection()?.type === 'Range') return; // text is being selected
    const row = e.target.closest('.row[data-index]');
    if (row) this.props.onOpen(Number(row.dataset.index));
  };

  onKeyDown = (e) => {
    const { records, selected, layout, onSelect, onOpen } = this.props;
    const page = Math.max(1, Math.floor(this.state.height / rowHeight(layout.lines)) - 2);
    const move = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (move !== undefined && records.length) {
      onSelect(Math.max(0, Math.min(records.length - 1, (selected < 0 ? Math.floor(this.state.top / rowHeight(layout.lines)) - Math.sign(move) * (move > 0 ? 1 : 0) : selected) + move)));
    } else if (e.key === 'Enter' && selected >= 0) onOpen(selected);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  render({ records, selected, layout, marks, busy, end }, { top, height }) {
    const each = rowHeight(layout.lines);
    const first = Math.max(0, Math.floor((top - above) / each) - overscan);
    const last = Math.min(records.length, Math.ceil((top + height) / each) + overscan);
    const rows = [];
    for (let i = first; i < last; i++) {
      rows.push(html`<${Row} key=${i} record=${records[i]} index=${i} at=${i * each} selected=${i === selected} layout=${layout} marks=${marks} />`);
    }
    return html`<div
      class=${`list lines-${layout.lines}`} role="grid" aria-label="Records"
      id="records" tabindex="0" aria-rowcount=${records.length + 1} aria-busy=${String(Boolean(busy))}
      aria-activedescendant=${selected >= first && selected < last ? `record-${selected}` : undefined} ref=${(el) => (this.view = el)}
      onScroll=${this.onScroll} onClick=${this.onClick} onKeyDown=${this.onKeyDown} style=${layout.style}>
      <div class="row head" role="row" aria-rowindex="1">
        <span class="cell" role="columnheader">Time</span><span class="cell level" role="columnheader">Level</span>
        ${layout.services && html`<span class="cell service" role="columnheader">Service</span>`}
        ${layout.columns.map((name) => html`<span class="cell" role="columnheader" title=${name}>${name}</span>`)}
        <span class="cell" role="columnheader">Message</span>
      </div>
      <div class="rows" role="rowgroup" style=${{ height: `${records.length * each}px` }}>${rows}</div>
      <div class="list-end" role="presentation">${end}</div>
    </div>`;
  }
}
