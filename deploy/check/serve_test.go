package check

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// serving is the pod of the server.
func serving(t *testing.T) corev1.PodSpec {
	t.Helper()
	all := workloads(t, "serve")
	if len(all) != 1 {
		t.Fatalf("%d workloads", len(all))
	}
	return all[0].template.Spec
}

// The server listens for others only with tokens, which are of a secret that its group alone may read; it has time to drain, and
// probes need no token.
func TestServeDeployment(t *testing.T) {
	t.Parallel()
	pod := serving(t)
	c := pod.Containers[0]
	for _, want := range []string{"--listen=0.0.0.0:3100", "--tokens=/etc/logstow/tokens.yaml", "--behind-proxy"} {
		if !slices.Contains(c.Args, want) {
			t.Errorf("no %s in %q", want, c.Args)
		}
	}
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })
	if i < 0 || pod.Volumes[i].Secret.DefaultMode == nil || *pod.Volumes[i].Secret.DefaultMode != 0o400 {
		t.Fatalf("volumes %+v", pod.Volumes)
	}
	if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == pod.Volumes[i].Name && m.MountPath == "/etc/logstow" && m.ReadOnly
	}) {
		t.Errorf("mounts %+v", c.VolumeMounts)
	}
	if s := pod.SecurityContext; s == nil || s.FSGroup == nil || s.RunAsUser == nil || *s.RunAsUser == 0 {
		t.Error("it cannot read the secret")
	}
	drain := int64(10) // of the server, see package serve
	if hook := c.Lifecycle.PreStop; hook != nil && hook.Sleep != nil {
		drain += hook.Sleep.Seconds
	}
	if grace := pod.TerminationGracePeriodSeconds; grace == nil || *grace < drain+5 {
		t.Error("it has no time to drain")
	}
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Path != "/ready" || p.HTTPGet.Port.String() != "http" {
			t.Errorf("probe %+v", p)
		}
	}
}

// The unit listens on loopback, where it needs no tokens.
func TestServeUnit(t *testing.T) {
	t.Parallel()
	if text := unit(t, "logstow-serve.service"); !strings.Contains(text, " --listen 127.0.0.1:") {
		t.Error("it listens elsewhere")
	}
}

// Grafana's file names the data source that dashboards refer to, sends no secret in plain text, and the browser goes through Grafana.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	var file struct {
		APIVersion  int `json:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			BasicAuth                    bool   `json:"basicAuth"`
			BasicAuthUser                string `json:"basicAuthUser"`
			JSONData                     struct {
				MaxLines int `json:"maxLines"`
				Timeout  int `json:"timeout"`
			} `json:"jsonData"`
			Secure map[string]string `json:"secureJsonData"`
		}
	}
	if err := yaml.UnmarshalStrict(read(t, "..", "grafana", "provisioning", "logstow.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if file.APIVersion != 1 || len(file.Datasources) != 1 {
		t.Fatalf("%+v", file)
	}
	d := file.Datasources[0]
	if d.Name == "" || d.UID == "" || d.Type != "loki" || d.Access != "proxy" || !strings.HasPrefix(d.URL, "http") {
		t.Errorf("%+v", d)
	}
	if !d.BasicAuth || d.BasicAuthUser == "" || d.Secure["basicAuthPassword"] != "$LOGSTOW_TOKEN" {
		t.Errorf("%+v", d)
	}
}
