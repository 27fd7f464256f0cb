package agent

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"

	"logstow/config"
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

// Run implements reader.
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

// openPods returns the watcher of an input's pods, and adds its processor to opts.
func (p *pipeline) openPods(in *config.PodMetadata, opts *input.Options) (*podmeta.Watcher, error) {
	server, token, ca := in.Server, in.TokenFile, in.CAFile
	if server == "" {
		var err error
		if server, err = podServer(p.getenv); err != nil {
			return nil, err
		}
		token, ca = cmp.Or(token, serviceAccount+"token"), cmp.Or(ca, serviceAccount+"ca.crt")
	}
	watcher, err := podmeta.New(podmeta.Options{
		Server: server, TokenFile: token, CAFile: ca, Node: in.Node, Labels: in.Labels, Annotations: in.Annotations,
		SourcePrefix: opts.SourcePrefix, Log: p.log,
	})
	if err != nil {
		return nil, err
	}
	opts.Process = watcher.Processor(opts.Process)
	return watcher, nil
}
