// Package progress shows the progress of a command on a terminal: a line below its messages that is
// redrawn as work proceeds.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// delay is the time until a line is drawn, interval the interval at which it is redrawn.
	delay    = time.Second
	interval = 200 * time.Millisecond
	// barWidth is the number of columns of a bar.
	barWidth = 20
	// clearLine removes the line that the cursor is in.
	clearLine = "\r\x1b[K"
)

// Line is a stream of messages with a progress line below them. What is written to it appears above
// the progress line. It is safe for concurrent use.
type Line struct {
	to      io.Writer
	columns int

	mu    sync.Mutex
	drawn bool // the line is on the terminal
	holds int
	held  []byte
}

// New returns the messages of a stream that is a terminal with a number of columns. With 0 columns it
// is not a terminal, and no progress is drawn.
func New(to io.Writer, columns int) *Line { return &Line{to: to, columns: columns} }

// Unwrap is the stream.
func (l *Line) Unwrap() io.Writer { return l.to }

// Write prints a message, or holds it, see [Line.Hold].
func (l *Line) Write(p []byte) (n int, err error) {
	l.Above(func() {
		if l.holds > 0 {
			l.held = append(l.held, p...)
			n = len(p)
			return
		}
		n, err = l.to.Write(p)
	})
	return n, err
}

// Above removes the progress line until it is redrawn, and calls print, which may write to another
// stream of the same terminal, but not to l.
func (l *Line) Above(print func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn {
		fmt.Fprint(l.to, clearLine)
		l.drawn = false
	}
	print()
}

// Hold leaves the terminal to another program, such as a pager: messages are held until release is
// called, and no progress is drawn.
func (l *Line) Hold() (release func()) {
	l.Above(func() { l.holds++ })
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.holds--; l.holds > 0 {
			return
		}
		_, _ = l.to.Write(l.held) // messages are best effort
		l.held = nil
	})
}

// Start draws text's result, in ASCII, first after a second and then repeatedly, until stop is called.
// stop removes the line.
func (l *Line) Start(text func() string) (stop func()) {
	if l.columns == 0 {
		return func() {}
	}
	ended := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		for {
			select {
			case <-ended:
				l.Above(func() {})
				return
			case <-timer.C:
				timer.Reset(interval)
				l.draw(text())
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		drawing.Wait()
	})
}

func (l *Line) draw(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds > 0 {
		return
	}
	l.drawn = true
	fmt.Fprintf(l.to, "\r%s\x1b[K", line[:min(len(line), l.columns-1)])
}

// Share is the fraction that done is of all, 0 to 1.
func Share(done, all int64) float64 {
	if all <= 0 {
		return 1
	}
	return max(0, min(1, float64(done)/float64(all)))
}

// Bar is a bar with a percentage, in ASCII: "[=====               ]  25%".
func Bar(done, all int64) string {
	share := Share(done, all)
	full := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), share*100)
}

// Terminal is a stream that knows the size of its terminal; tests have such ones.
type Terminal interface {
	Screen() (rows, columns int)
}

// Screen returns the size of the terminal that a stream is, 0 and 0 if it is not a terminal.
func Screen(w any) (rows, columns int) {
	if t, ok := w.(Terminal); ok {
		return t.Screen()
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 24, 80
	}
	return rows, columns
}
