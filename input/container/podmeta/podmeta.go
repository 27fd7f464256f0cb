// Package podmeta adds labels and annotations of pods to the attributes of their records, with the names of OpenTelemetry: in the object
// [attributes.Resource], as k8s.pod.label.NAME and k8s.pod.annotation.NAME. It watches pods with the Kubernetes API.
//
// Selected labels and annotations are kept in memory for the pods of one node. They are kept while the API
// server cannot be reached, and for some minutes after a pod was deleted. If a record's pod is unknown and the
// watch works, the record waits a moment for the pod. That happens once per pod.
package podmeta

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"logstow/input"
	"logstow/internal/event"
	"logstow/internal/logging"
	"logstow/record"
	"logstow/record/attributes"
)

const (
	// MaxPods is the maximum number of pods that are kept. Records of further pods are not changed.
	MaxPods = 2000
	// maxValue is the length in bytes to which the value of an annotation is truncated; that of a label has at most 63.
	maxValue = 1 << 10
	// keepDeleted is how long a deleted pod is kept, because its last lines may not have been read.
	keepDeleted = 10 * time.Minute
	// podWait is how long a record waits for an unknown pod, and firstWait for the first list.
	podWait, firstWait = 2 * time.Second, 10 * time.Second
)

// Options configure a [Watcher].
type Options struct {
	// Server is the URL of the API server. Required.
	Server string
	// TokenFile contains the token of requests; it is read before each request. CAFile contains the certificate
	// authorities of the server. Both are optional.
	TokenFile, CAFile string
	// Node is the name of the node whose pods are watched; "" is all nodes.
	Node string
	// Labels and Annotations are the names of the labels and annotations to add. At least one is required.
	Labels, Annotations []string
	// SourcePrefix precedes the names of pods in sources.
	SourcePrefix string
	// Log receives operational messages. It may be nil.
	Log *slog.Logger
}

// Watcher keeps the metadata of the pods of a node. It is safe for concurrent use.
type Watcher struct {
	opts  Options
	api   *api
	began time.Time

	mu sync.RWMutex
	// podWait and firstWait are the constants, except in tests.
	podWait, firstWait time.Duration
	pods               map[string]*pod
	// missing holds the pods for which a record has waited without success.
	missing map[string]bool
	// healthy is set while the watch works. listed is set after all pods were listed once.
	healthy, listed bool
	// changed is notified at each change, ended is closed when Run has ended.
	changed event.Event
	ended   chan struct{}
}

// pod is the metadata of a pod.
type pod struct {
	// added are the encoded attributes that are added to those of records.
	added []byte
	// deleted is when the pod was deleted, or zero.
	deleted time.Time
}

// New returns a Watcher. It sends no requests before Run.
func New(opts Options) (*Watcher, error) {
	if len(opts.Labels)+len(opts.Annotations) == 0 {
		return nil, errors.New("pod metadata requires labels or annotations")
	}
	opts.Log = logging.OrDiscard(opts.Log)
	a, err := newAPI(&opts)
	if err != nil {
		return nil, err
	}
	return &Watcher{
		opts: opts, api: a, began: time.Now(), podWait: podWait, firstWait: firstWait, pods: map[string]*pod{}, missing: map[string]bool{},
		ended: make(chan struct{}),
	}, nil
}

// Processor returns a processor that adds the metadata to the attributes of each record and passes the record on to
// next, which may be nil.
func (w *Watcher) Processor(next input.Processor) input.Processor { return &processor{w, next} }

type processor struct {
	watcher *Watcher
	next    input.Processor
}

// Process implements [input.Processor].
func (p *processor) Process(service string, r *record.Record) bool {
	r.Attributes = attributes.Merge(r.Attributes, p.watcher.of(r.Source))
	return p.next == nil || p.next.Process(service, r)
}

// of returns the encoded metadata of the pod that a source NAMESPACE/POD/… names.
func (w *Watcher) of(source string) []byte {
	key := podKey(strings.TrimPrefix(source, w.opts.SourcePrefix))
	if key == "" {
		return nil
	}
	added, known, missing := w.look(key)
	if !known && !missing && w.wait(key) {
		added, _, _ = w.look(key)
	}
	return added
}

// look returns the encoded metadata of a pod, whether it is known, and whether a record has waited for it without success.
func (w *Watcher) look(key string) (added []byte, known, missing bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if p := w.pods[key]; p != nil {
		return p.added, true, false
	}
	return nil, false, w.missing[key]
}

// wait waits for a pod and reports whether it is known.
func (w *Watcher) wait(key string) bool {
	w.mu.RLock()
	podWait, firstWait := w.podWait, w.firstWait
	w.mu.RUnlock()
	timer := time.NewTimer(podWait)
	defer timer.Stop()
	for {
		w.mu.RLock()
		p, healthy, listed, changed, full := w.pods[key], w.healthy, w.listed, w.changed.Next(), len(w.missing) >= MaxPods
		w.mu.RUnlock()
		late := false
		if p != nil {
			return true
		}
		switch {
		case !listed && time.Since(w.began) < firstWait:
			timer.Reset(firstWait - time.Since(w.began))
		case !healthy:
			return false // no entry in missing, so that a record waits for the pod once the watch works
		case full:
			return false // missing is full, so each record of the pod would wait
		}
		select {
		case <-changed:
		case <-w.ended:
			return false
		case <-timer.C:
			late = true
		}
		if late {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.pods[key] != nil { // at the same time
				return true
			}
			if w.healthy && len(w.missing) < MaxPods {
				w.missing[key] = true
			}
			return false
		}
	}
}

// podKey returns NAMESPACE/POD, the first two parts of a source, or "" if it has fewer parts.
func podKey(source string) string {
	first := strings.IndexByte(source, '/')
	if first < 0 {
		return ""
	}
	second := strings.IndexByte(source[first+1:], '/')
	if second < 0 {
		return ""
	}
	return source[:first+1+second]
}

// object is the metadata of a pod in responses of the API server.
type object struct {
	Metadata struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
}

func (o *object) key() string { return o.Metadata.Namespace + "/" + o.Metadata.Name }

// added returns the selected labels and annotations of a pod as encoded attributes.
func (w *Watcher) added(o *object) []byte {
	var all []attributes.Member
	set := attributes.Set{}
	add := func(prefix string, names []string, values map[string]string) {
		for _, name := range names {
			v, ok := values[name]
			if !ok {
				continue
			}
			if len(v) > maxValue {
				v = strings.ToValidUTF8(v[:maxValue], "") + "…"
				set.Cut++
			}
			all = append(all, attributes.Member{Name: prefix + name, Value: attributes.AppendText(nil, v)})
		}
	}
	add("k8s.pod.label.", w.opts.Labels, o.Metadata.Labels)
	add("k8s.pod.annotation.", w.opts.Annotations, o.Metadata.Annotations)
	set.Resource = attributes.NewGroup(all)
	text, _ := set.Append(nil)
	return slices.Clip(text)
}

// set adds or updates a pod.
func (w *Watcher) set(o *object) {
	key, added := o.key(), w.added(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropDeleted(time.Now())
	p := w.pods[key]
	if p == nil && len(w.pods) >= MaxPods {
		return
	}
	if p == nil {
		p = &pod{}
		w.pods[key] = p
	}
	p.added, p.deleted = added, time.Time{}
	delete(w.missing, key)
	w.changed.Notify()
}

// remove notes that a pod was deleted.
func (w *Watcher) remove(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.dropDeleted(now)
	if p := w.pods[key]; p != nil && p.deleted.IsZero() {
		p.deleted = now
	}
}

// finishList notes that all pods but the listed ones were deleted.
func (w *Watcher) finishList(there map[string]bool) {
	w.mu.Lock()
	gone := slices.DeleteFunc(keys(w.pods), func(key string) bool { return there[key] })
	w.listed, w.healthy = true, true
	clear(w.missing)
	w.changed.Notify()
	w.mu.Unlock()
	for _, key := range gone {
		w.remove(key)
	}
}

func keys(pods map[string]*pod) (all []string) {
	for key := range pods {
		all = append(all, key)
	}
	return all
}

// setHealthy sets whether the watch works.
func (w *Watcher) setHealthy(healthy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.healthy != healthy {
		w.healthy = healthy
		w.changed.Notify()
	}
}

// dropDeleted removes pods that were deleted a while ago.
func (w *Watcher) dropDeleted(now time.Time) {
	if len(w.pods) < MaxPods/4 { // there is enough space
		return
	}
	for key, p := range w.pods {
		if !p.deleted.IsZero() && now.Sub(p.deleted) > keepDeleted {
			delete(w.pods, key)
		}
	}
}
