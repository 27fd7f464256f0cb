package engine

import "logstow/logql/syntax"

// windows are the windows of a range aggregation, and the intervals into which their boundaries divide time. Window k is
// (start + k·step, start + k·step + length]; intervals exclude their start and include their end, too. Interval 0 begins at start.
// There are at most four times as many intervals as windows.
//
// If all windows overlap, the common time is one interval, and each other interval is as long as a step. Otherwise intervals are as
// long as a step if length is a multiple of step; if not, each step is divided into two intervals by the end of a window. If windows are
// shorter than a step, the gaps between them are intervals without a window.
type windows struct {
	start, step, length int64
	n                   int
	common              bool
	whole, part         int64 // length is whole steps and a part of one
}

func newWindows(start, step, length int64, n int) windows {
	if n == 1 {
		step = length
	}
	w := windows{start: start, step: step, length: length, n: n, whole: length / step, part: length % step}
	w.common = length > int64(n-1)*step
	return w
}

// end returns the end of the last window.
func (w *windows) end() int64 { return w.start + int64(w.n-1)*w.step + w.length }

// bounds returns start and end of window k.
func (w *windows) bounds(k int) (from, to int64) {
	from = w.start + int64(k)*w.step
	return from, from + w.length
}

// interval is the number of the interval that a time is in; false if that is in no window.
func (w *windows) interval(at int64) (int, bool) {
	if at <= w.start || at > w.end() {
		return 0, false
	}
	at -= w.start + 1
	q, rest := at/w.step, at%w.step
	switch {
	case w.common && q < int64(w.n-1):
		return int(q), true
	case w.common && at < w.length:
		return w.n - 1, true
	case w.common:
		return w.n + int((at-w.length)/w.step), true
	case w.part == 0:
		return int(q), true
	case rest < w.part:
		return int(2 * q), true
	}
	return int(2*q) + 1, w.whole > 0
}

// of are the intervals [from, to) of window k.
func (w *windows) of(k int) (from, to int) {
	switch {
	case w.common:
		return k, k + w.n
	case w.part == 0:
		return k, k + int(w.whole)
	}
	return 2 * k, 2*(k+int(w.whole)) + 1
}

// commonWidth returns the greatest width of which all boundaries are multiples.
func (w *windows) commonWidth() int64 {
	width := gcd(w.start, w.length)
	if w.n > 1 {
		width = gcd(width, w.step)
	}
	return width
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// slide computes the cell of each window that has samples, with the two-stack algorithm of sliding-window aggregation, so that each
// cell is merged a constant number of times. back has the merged cells of the newest intervals; front has, for each older interval, the
// merged cells from there to the beginning of back.
func slide[T any, C merging[T]](w *windows, at func(interval int) *T, emit func(k int, c *T)) {
	var front []T // the oldest interval is the last element
	var back T
	begin, backBegin, end := 0, 0, 0 // the intervals of front are [begin, backBegin), those of back [backBegin, end)
	for k := range w.n {
		from, to := w.of(k)
		if from >= end { // nothing is shared
			clear(front)
			front, back = front[:0], *new(T)
			begin, backBegin, end = from, from, from
		}
		for ; end < to; end++ {
			if c := at(end); c != nil {
				C(&back).merge(c)
			}
		}
		if from >= backBegin && from > begin {
			front, back, backBegin = restack[T, C](front, at, from, end), *new(T), end
			begin = from
		}
		for ; begin < from; begin++ {
			front = front[:len(front)-1]
		}
		var all T
		if len(front) > 0 {
			C(&all).merge(&front[len(front)-1])
		}
		C(&all).merge(&back)
		if !C(&all).empty() {
			emit(k, &all)
		}
	}
}

// restack is the stack of the intervals [from, to).
func restack[T any, C merging[T]](stack []T, at func(interval int) *T, from, to int) []T {
	clear(stack)
	stack = stack[:0]
	for i := to - 1; i >= from; i-- {
		var c T
		if own := at(i); own != nil {
			C(&c).merge(own)
		}
		if len(stack) > 0 {
			C(&c).merge(&stack[len(stack)-1])
		}
		stack = append(stack, c)
	}
	return stack
}

// span is the range of time (from, to].
type span struct{ from, to int64 }

// selection is the selection of the records of log in a span.
func (s span) selection(log *syntax.LogExpr) Selection {
	return Selection{Log: log, From: s.from + 1, To: s.to + 1}
}

// Windows with gaps of at least gapLengths times their length are read one by one, if there are at most gapSpans.
const (
	gapLengths = 3
	gapSpans   = 256
)

// spans are the ranges to read.
func (w *windows) spans() []span {
	if w.n > gapSpans || w.step-w.length < gapLengths*w.length {
		return []span{{w.start, w.end()}}
	}
	all := make([]span, w.n)
	for k := range all {
		all[k].from, all[k].to = w.bounds(k)
	}
	return all
}
