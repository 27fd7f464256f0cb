package files

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"

	"logstow/input"
	"logstow/input/container/podmeta"
	"logstow/input/tail"
)

// serviceAccount is the directory of a pod's service account credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// podReader reads files of pods while it watches the pods' metadata.
type podReader struct {
	*tail.Tailer
	pods *podmeta.Watcher
}

// Run implements [input.Reader].
func (r podReader) Run(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { r.pods.Run(watching) })
	defer all.Wait()
	defer cancel()
	return r.Tailer.Run(ctx)
}

// podServer returns the URL of the Kubernetes API for a process in a pod.
func podServer(getenv func(string) string) (string, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" {
		return "", errors.New("pod-metadata: not in a Kubernetes pod: KUBERNETES_SERVICE_HOST is not set and no server is given")
	}
	return "https://" + net.JoinHostPort(host, cmp.Or(port, "443")), nil
}

// PodMetadata selects labels and annotations of pods. Server is the URL of the Kubernetes API, or "" for the cluster
// that the shipper runs in.
type PodMetadata struct {
	Labels, Annotations             []string
	Server, TokenFile, CAFile, Node string
}

func (p *PodMetadata) keys() []input.Key {
	return []input.Key{
		{Name: "labels", To: &p.Labels, OneOf: true},
		{Name: "annotations", To: &p.Annotations, OneOf: true},
		{Name: "server", To: &p.Server},
		{Name: "token-file", To: &p.TokenFile},
		{Name: "ca-file", To: &p.CAFile},
		{Name: "node", To: &p.Node},
	}
}

// open returns the watcher of an input's pods, nil if p is nil, and adds its processor to the input.
func (p *PodMetadata) open(with *input.Opening) (*podmeta.Watcher, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // nothing is watched
	}
	server, token, ca := p.Server, p.TokenFile, p.CAFile
	if server == "" {
		var err error
		if server, err = podServer(with.Getenv); err != nil {
			return nil, err
		}
		token, ca = cmp.Or(token, serviceAccount+"token"), cmp.Or(ca, serviceAccount+"ca.crt")
	}
	watcher, err := podmeta.New(podmeta.Options{
		Server: server, TokenFile: token, CAFile: ca, Node: p.Node, Labels: p.Labels, Annotations: p.Annotations,
		SourcePrefix: with.SourcePrefix, Log: with.Log,
	})
	if err != nil {
		return nil, err
	}
	with.Process = watcher.Processor(with.Process)
	return watcher, nil
}
