// Heights of rows of which most are as high as usual: where a row is, and which is at a place, in a few steps for any number of rows.

const first = 1024; // a power of two, as all capacities

/** Heights are a Fenwick tree of what rows are higher than usual. */
export class Heights {
  constructor(usual) {
    this.usual = usual;
    this.more = new Map(); // by row
    this.tree = new Float64Array(first + 1);
  }

  add(row, height) {
    for (let i = row + 1; i < this.tree.length; i += i & -i) this.tree[i] += height;
  }

  /** set sets the height of a row; it returns whether that changed. */
  set(row, height) {
    const more = height - this.usual;
    const before = this.more.get(row) || 0;
    if (more === before) return false;
    if (row + 2 > this.tree.length) {
      let capacity = first;
      while (capacity < row + 1) capacity *= 2;
      this.tree = new Float64Array(capacity + 1);
      for (const [one, own] of this.more) this.add(one, own);
    }
    if (more) this.more.set(row, more);
    else this.more.delete(row);
    this.add(row, more - before);
    return true;
  }

  /** top is where a row begins. */
  top(row) {
    let sum = row * this.usual;
    for (let i = Math.min(row, this.tree.length - 1); i > 0; i -= i & -i) sum += this.tree[i];
    return sum;
  }

  /** at is the row at a place. */
  at(y) {
    let [row, rest] = [0, y];
    for (let step = this.tree.length - 1; step; step = Math.floor(step / 2)) {
      const size = row + step < this.tree.length ? step * this.usual + this.tree[row + step] : Infinity;
      if (size <= rest) [row, rest] = [row + step, rest - size];
    }
    return row === this.tree.length - 1 ? row + Math.floor(rest / this.usual) : row;
  }
}
