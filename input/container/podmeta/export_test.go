package podmeta

import (
	"context"
	"net"
	"net/http"
	"time"
)

// SetWaits sets how long records wait for a pod, and for the first list.
func (w *Watcher) SetWaits(pod, first time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.podWait, w.firstWait = pod, first
}

// SetDial sets how a watcher that does not run yet connects to the server.
func (w *Watcher) SetDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	w.api.client.Transport.(*http.Transport).DialContext = dial
}
