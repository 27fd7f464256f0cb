package container

import (
	"cmp"
	"fmt"
	"strings"

	"logstow/blobnaming"
)

// Pod identifies the container of a log file.
type Pod struct {
	Namespace, Pod, Container string
}

// ParsePath reads a [Pod] from the last parts of the path of a log file as a kubelet names it:
//
//	…/containers/<pod>_<namespace>_<container>-<id>.log
//	…/pods/<namespace>_<pod>_<uid>/<container>/<N>.log
//
// In the second form it also accepts names of rotated files (1.log.20261120-150405.gz). Names of namespaces,
// pods and containers do not contain '_'.
func ParsePath(path string) (Pod, bool) {
	parts := strings.Split(path, "/")
	n := len(parts)
	var p Pod
	switch {
	case n >= 2 && parts[n-2] == "containers":
		name, ok := strings.CutSuffix(parts[n-1], ".log")
		fields := strings.Split(name, "_")
		if !ok || len(fields) != 3 {
			return Pod{}, false
		}
		dash := strings.LastIndexByte(fields[2], '-')
		if dash < 0 || dash == len(fields[2])-1 {
			return Pod{}, false
		}
		p = Pod{Namespace: fields[1], Pod: fields[0], Container: fields[2][:dash]}
	case n >= 4 && parts[n-4] == "pods":
		fields := strings.Split(parts[n-3], "_")
		number, _, ok := strings.Cut(parts[n-1], ".log")
		if !ok || len(fields) != 3 || fields[2] == "" || number == "" || strings.Trim(number, "0123456789") != "" {
			return Pod{}, false
		}
		p = Pod{Namespace: fields[0], Pod: fields[1], Container: parts[n-2]}
	}
	return p, p.Namespace != "" && p.Pod != "" && p.Container != ""
}

// Pattern derives a service name from a [Pod].
type Pattern struct{ text string }

// ParsePattern parses a pattern such as "{namespace}.{container}": the names in braces are
// namespace, pod and container, everything else is literal.
func ParsePattern(text string) (Pattern, error) {
	if text == "" {
		return Pattern{}, fmt.Errorf("service pattern %q: it must not be empty", text)
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "{")
		if !ok {
			break
		}
		name, after, ok := strings.Cut(after, "}")
		if !ok {
			return Pattern{}, fmt.Errorf("service pattern %q: { is not closed", text)
		}
		switch name {
		case "namespace", "pod", "container":
		default:
			return Pattern{}, fmt.Errorf("service pattern %q: unknown {%s}: want {namespace}, {pod} or {container}", text, name)
		}
		rest = after
	}
	return Pattern{text}, nil
}

// Service returns the pattern with the names of a pod filled in. It is always a valid service name: invalid
// characters become '-', and names that are too long are truncated.
func (p Pattern) Service(pod Pod) string {
	name := strings.NewReplacer("{namespace}", pod.Namespace, "{pod}", pod.Pod, "{container}", pod.Container).Replace(p.text)
	return cmp.Or(blobnaming.CleanService(name), "unknown")
}

// Of returns the service for the path of a container's log file, and namespace/pod/container as the source of
// its records. It returns false for other paths, see [ParsePath].
func (p Pattern) Of(path string) (service, source string, ok bool) {
	pod, ok := ParsePath(path)
	if !ok {
		return "", "", false
	}
	return p.Service(pod), pod.Namespace + "/" + pod.Pod + "/" + pod.Container, true
}
