// Package check holds tests of the files that Logstow is deployed with. It is a
// module of its own: what it needs, no program needs. Run it with make deploy-check.
package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// workload is something that runs pods.
type workload struct {
	name     string
	selector *metav1.LabelSelector // nil for jobs
	template corev1.PodTemplateSpec
	config   string // shipper.yaml that it mounts, if any
}

// decode reads a rendered resource strictly: an unknown key or a wrong type is an error.
func decode(text []byte, kind string) (runtime.Object, error) {
	objects := map[string]runtime.Object{
		"Namespace": new(corev1.Namespace), "ServiceAccount": new(corev1.ServiceAccount), "ConfigMap": new(corev1.ConfigMap),
		"DaemonSet": new(appsv1.DaemonSet), "Deployment": new(appsv1.Deployment), "StatefulSet": new(appsv1.StatefulSet), "CronJob": new(batchv1.CronJob),
		"Service": new(corev1.Service), "ClusterRole": new(rbacv1.ClusterRole), "ClusterRoleBinding": new(rbacv1.ClusterRoleBinding),
	}
	object := objects[kind]
	if object == nil {
		return nil, fmt.Errorf("a %s is not known here", kind)
	}
	return object, yaml.UnmarshalStrict(text, object)
}

// workloads are those that the chart renders with a file of values.
func workloads(t *testing.T, name string) (all []workload) {
	t.Helper()
	configs := map[string]string{}
	for _, one := range render(t, name) {
		decoded, err := decode(one.text, one.Kind)
		if err != nil {
			t.Errorf("%s %s: %v", one.Kind, one.Metadata.Name, err)
			continue
		}
		switch o := decoded.(type) {
		case *corev1.ConfigMap: // comes before what mounts it
			configs[o.Name] = o.Data["shipper.yaml"]
		case *appsv1.DaemonSet:
			all = append(all, workload{o.Name, o.Spec.Selector, o.Spec.Template, configs[o.Name]})
		case *appsv1.Deployment:
			all = append(all, workload{o.Name, o.Spec.Selector, o.Spec.Template, configs[o.Name]})
		case *appsv1.StatefulSet:
			for _, claim := range o.Spec.VolumeClaimTemplates {
				o.Spec.Template.Spec.Volumes = append(o.Spec.Template.Spec.Volumes, corev1.Volume{Name: claim.Name})
			}
			all = append(all, workload{o.Name, o.Spec.Selector, o.Spec.Template, configs[o.Name]})
		case *batchv1.CronJob:
			all = append(all, workload{o.Name, nil, o.Spec.JobTemplate.Spec.Template, ""})
		}
	}
	return all
}

// Every pod runs with as little as it can.
func TestPods(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, name := range valueFiles(t) {
		for _, w := range workloads(t, name) {
			seen[strings.TrimPrefix(strings.TrimPrefix(w.name, "logstow-"), "logs-")]++
			checkPod(t, w)
		}
	}
	want := map[string]int{"node": 8, "compact": 7, "retain": 7, "verify": 7, "relay": 2, "serve": 2, "shop": 2, "export": 1}
	if !maps.Equal(seen, want) {
		t.Errorf("found %v, want %v", seen, want)
	}
}

func checkPod(t *testing.T, w workload) {
	t.Helper()
	pod := w.template.Spec
	if w.selector != nil {
		s, err := metav1.LabelSelectorAsSelector(w.selector)
		if err != nil || s.Empty() || !s.Matches(labels.Set(w.template.Labels)) {
			t.Errorf("%s: its selector does not find its pods", w.name)
		}
	}
	if pod.ServiceAccountName == "" || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("%s: wants a service account without a mounted token", w.name)
	}
	if w.template.Labels["azure.workload.identity/use"] != "true" {
		t.Errorf("%s: no workload identity", w.name)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		name := w.name + "/" + c.Name
		s := c.SecurityContext
		switch {
		case s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem:
			t.Errorf("%s: its root file system can be written", name)
		case s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
			t.Errorf("%s: may escalate", name)
		case s.Capabilities == nil || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" || s.Capabilities.Add != nil:
			t.Errorf("%s: has capabilities", name)
		}
		root := strings.HasSuffix(w.name, "-node") // the kubelet's files are readable by root alone
		if nonRoot := runsAsNonRoot(pod.SecurityContext, s); nonRoot == root {
			t.Errorf("%s: non-root is %v", name, nonRoot)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: no resources", name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: mounts %s, which is no volume", name, m.Name)
			}
		}
	}
}

func runsAsNonRoot(pod *corev1.PodSecurityContext, c *corev1.SecurityContext) bool {
	if c != nil && c.RunAsNonRoot != nil {
		return *c.RunAsNonRoot
	}
	return pod != nil && pod.RunAsNonRoot != nil && *pod.RunAsNonRoot
}

// A shipper has time to ship what it has read, and is a native sidecar beside an application.
func TestTermination(t *testing.T) {
	t.Parallel()
	for _, w := range slices.Concat(workloads(t, "default"), workloads(t, "node-inputs"), workloads(t, "sidecar"), workloads(t, "relay")) {
		for _, c := range append(w.template.Spec.InitContainers, w.template.Spec.Containers...) {
			if len(c.Args) == 0 || c.Args[0] != "run" {
				continue
			}
			if sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways; sidecar != (w.name == "shop") {
				t.Errorf("%s: sidecar is %v", w.name, sidecar)
			}
			drain := drainTimeout(t, w, c.Args)
			if grace := w.template.Spec.TerminationGracePeriodSeconds; grace == nil || drain+5*time.Second > time.Duration(*grace)*time.Second {
				t.Errorf("%s: drains for %v of %v s", w.name, drain, grace)
			}
		}
	}
}

// drainTimeout is that of the arguments, or of the configuration.
func drainTimeout(t *testing.T, w workload, args []string) time.Duration {
	t.Helper()
	for _, a := range args {
		if value, ok := strings.CutPrefix(a, "--drain-timeout="); ok {
			d, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	var config struct {
		Drain metav1.Duration `json:"drain-timeout"`
	}
	if err := yaml.Unmarshal([]byte(w.config), &config); err != nil || config.Drain.Duration == 0 {
		t.Fatalf("%s: no drain timeout: %v", w.name, err)
	}
	return config.Drain.Duration
}
