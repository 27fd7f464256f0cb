// Package sdnotify reports a service's state to systemd, as described in sd_notify(3).
package sdnotify

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"logstow/internal/logging"
	"logstow/internal/retry"
)

// States of a service.
const (
	// Ready: the service has started.
	Ready = "READY=1"
	// Stopping: the service is about to end.
	Stopping = "STOPPING=1"
	// watchdog: the service is alive.
	watchdog = "WATCHDOG=1"
)

// sendTimeout bounds the sending of one message, also on a machine that is busy: without the first a
// manager takes the start for failed.
const sendTimeout = 10 * time.Second

// Notifier notifies the service manager. A nil Notifier does nothing, for systems without one. It
// is safe for concurrent use.
type Notifier struct {
	address string
	// interval is the interval of the watchdog; 0 if there is none.
	interval time.Duration
}

// FromEnv finds the service manager by NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; nil if there is none. pid is that of
// this process.
func FromEnv(getenv func(string) string, pid int) *Notifier {
	address := getenv("NOTIFY_SOCKET")
	if !strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "@") {
		return nil
	}
	n := &Notifier{address: address}
	if of := getenv("WATCHDOG_PID"); of != "" && of != strconv.Itoa(pid) {
		return n
	}
	if usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && usec > 0 &&
		usec < int64(time.Hour*24*365/time.Microsecond) {
		n.interval = time.Duration(usec) * time.Microsecond
	}
	return n
}

// Send sends [Ready], [Stopping] or another assignment, newlines between several.
func (n *Notifier) Send(ctx context.Context, state string) error {
	if n == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unixgram", n.address)
	if err != nil {
		return fmt.Errorf("cannot notify the service manager: %w", err)
	}
	defer c.Close() //nolint:errcheck // a datagram is sent or not by then
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetWriteDeadline(deadline)
	}
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("cannot notify the service manager: %w", err)
	}
	return nil
}

// Watch notifies the watchdog, until ctx ends, as long as healthy returns nil. It returns at once
// if there is no watchdog. log may be nil.
func (n *Notifier) Watch(ctx context.Context, healthy func() error, log *slog.Logger) {
	if n == nil || n.interval == 0 {
		return
	}
	log = logging.OrDiscard(log)
	retry.Every(ctx, n.interval/3, func() {
		err := healthy()
		if err == nil {
			err = n.Send(ctx, watchdog)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("watchdog not notified", "error", err)
		}
	})
}
