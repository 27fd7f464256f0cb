package files

import "testing"

func TestPodServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ host, port, want string }{
		{"10.0.0.1", "6443", "https://10.0.0.1:6443"},
		{"10.0.0.1", "", "https://10.0.0.1:443"},
		{"fd00::1", "443", "https://[fd00::1]:443"},
		{"", "443", ""},
	} {
		env := map[string]string{"KUBERNETES_SERVICE_HOST": c.host, "KUBERNETES_SERVICE_PORT": c.port}
		got, err := podServer(func(name string) string { return env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
