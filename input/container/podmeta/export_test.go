package podmeta

import "time"

// SetWaits sets how long records wait for a pod, and for the first list.
func (w *Watcher) SetWaits(pod, first time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.podWait, w.firstWait = pod, first
}
