package podmeta

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"logstow/internal/certs"
	"logstow/internal/limited"
	"logstow/internal/retry"
)

const (
	// pageSize is the maximum number of pods in a page of the list.
	pageSize = 100
	// maxPage and maxEvent are the maximum sizes of a page of the list and of an event, in bytes.
	maxPage, maxEvent = 16 << 20, 2 << 20
	// watchTime is how long the server keeps a watch. It is canceled watchGrace later.
	watchTime, watchGrace = 5 * time.Minute, 30 * time.Second
	// minBackoff and maxBackoff limit the delay after a failure.
	minBackoff, maxBackoff = 200 * time.Millisecond, 30 * time.Second
	// requestTimeout limits the request of a page, and the time until a watch begins.
	requestTimeout = 30 * time.Second
	// maxToken is the maximum size of a token.
	maxToken = 64 << 10
)

var (
	// errExpired reports that the version is too old for a watch, so that the pods must be listed again.
	errExpired = errors.New("resource version expired") //nolint:gochecknoglobals // a sentinel
	errLarge   = errors.New("response too large")       //nolint:gochecknoglobals // a sentinel
)

// api is the API server.
type api struct {
	client *http.Client
	base   *url.URL
	opts   *Options
}

func newAPI(opts *Options) (*api, error) {
	base, err := url.Parse(opts.Server)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("pod metadata: server %q: want a URL such as https://10.0.0.1:443", opts.Server)
	}
	transport := &http.Transport{ResponseHeaderTimeout: requestTimeout, TLSHandshakeTimeout: requestTimeout, MaxIdleConnsPerHost: 1}
	if opts.CAFile != "" {
		pool, err := certs.Only(opts.CAFile)
		if err != nil {
			return nil, fmt.Errorf("pod metadata: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &api{
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		base:   base, opts: opts,
	}, nil
}

// get requests pods.
func (a *api) get(ctx context.Context, query url.Values, accept string) (io.ReadCloser, error) {
	if a.opts.Node != "" {
		query.Set("fieldSelector", "spec.nodeName="+a.opts.Node)
	}
	at := a.base.JoinPath("api/v1/pods")
	at.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	if a.opts.TokenFile != "" {
		token, err := readToken(a.opts.TokenFile)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := a.client.Do(r)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return response.Body, nil
	case http.StatusGone:
		err = errExpired
	default:
		err = fmt.Errorf("API server responded %s", response.Status)
	}
	return nil, errors.Join(err, response.Body.Close())
}

func readToken(path string) (string, error) {
	token, err := limited.Regular(path, maxToken)
	return strings.TrimSpace(string(token)), err
}

// Run lists and watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	defer close(w.ended)
	defer w.api.client.CloseIdleConnections()
	backoff := retry.Backoff{Min: minBackoff, Max: maxBackoff, Random: rand.Uint64N}
	version, failures, since := "", 0, time.Time{}
	for ctx.Err() == nil {
		var err error
		var worked bool
		if version == "" {
			version, err = w.list(ctx)
			worked = err == nil
		} else {
			version, worked, err = w.watch(ctx, version)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errExpired) {
			version = ""
		}
		if worked && failures > 0 {
			w.opts.Log.Info("pod metadata: API server responds again", "after", time.Since(since).Round(time.Millisecond).String())
			failures = 0
		}
		if err == nil {
			continue
		}
		w.setHealthy(false)
		if failures++; failures == 1 {
			since = time.Now()
			w.opts.Log.Warn("pod metadata: cannot read pods from the API server; retrying", "error", err)
		}
		if retry.Sleep(ctx, backoff.Delay(err, failures)) != nil {
			return
		}
	}
}

// list reads all pods. It returns the version from which a watch continues.
func (w *Watcher) list(ctx context.Context) (version string, err error) {
	there := map[string]bool{}
	for next := ""; ; {
		version, next, err = w.page(ctx, next, there)
		if err != nil {
			return "", err
		}
		if next == "" {
			w.finishList(there)
			return version, nil
		}
	}
}

// page reads a page of the list.
func (w *Watcher) page(ctx context.Context, from string, there map[string]bool) (version, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if from != "" {
		query.Set("continue", from)
	}
	body, err := w.api.get(ctx, query, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	if err != nil {
		return "", "", err
	}
	defer func() { _ = body.Close() }()
	var page struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
			Continue        string `json:"continue"`
		} `json:"metadata"`
		Items []object `json:"items"`
	}
	if err := json.NewDecoder(&limited.Reader{From: body, Left: maxPage, Err: errLarge}).Decode(&page); err != nil {
		return "", "", fmt.Errorf("list of pods: %w", err)
	}
	if page.Metadata.ResourceVersion == "" {
		return "", "", errors.New("list of pods: it has no resourceVersion")
	}
	for i := range page.Items {
		if len(there) < MaxPods {
			there[page.Items[i].key()] = true
			w.set(&page.Items[i])
		}
	}
	return page.Metadata.ResourceVersion, page.Metadata.Continue, nil
}

// watch applies the changes after a version until the server ends the watch. It always returns the version from
// which the next watch continues. worked reports whether the watch worked before it failed: then the failure does
// not count towards an outage.
func (w *Watcher) watch(ctx context.Context, from string) (version string, worked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTime+watchGrace)
	defer cancel()
	body, err := w.api.get(ctx, url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {from},
		"timeoutSeconds": {strconv.Itoa(int(watchTime / time.Second))},
	}, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json")
	if err != nil {
		return from, false, err
	}
	defer func() { _ = body.Close() }()
	w.setHealthy(true)
	begun := time.Now()
	version, err = w.apply(body, from)
	return version, err == nil || version != from || time.Since(begun) > maxBackoff, err
}

// apply applies the changes that a watch reports.
func (w *Watcher) apply(body io.Reader, version string) (string, error) {
	in := &limited.Reader{From: body, Err: errLarge}
	events, begun := json.NewDecoder(in), time.Now()
	for {
		var e struct {
			Type   string `json:"type"`
			Object struct {
				object
				Code int `json:"code"`
			} `json:"object"`
		}
		in.Left = maxEvent
		switch err := events.Decode(&e); {
		case errors.Is(err, io.EOF) && time.Since(begun) > time.Second:
			return version, nil
		case errors.Is(err, errLarge): // the next one would be the same
			return version, fmt.Errorf("watch of pods: %w, %w", err, errExpired)
		case err != nil: // a watch that ends at once is a failure, so that it is not begun again at once
			return version, fmt.Errorf("watch of pods: %w", err)
		}
		o := &e.Object.object
		switch e.Type {
		case "ADDED", "MODIFIED":
			w.set(o)
		case "DELETED":
			w.remove(o.key())
		case "BOOKMARK":
		case "ERROR":
			if e.Object.Code == http.StatusGone {
				return version, errExpired
			}
			return version, fmt.Errorf("watch of pods: the API server reports error %d", e.Object.Code)
		}
		if o.Metadata.ResourceVersion != "" {
			version = o.Metadata.ResourceVersion
		}
	}
}
