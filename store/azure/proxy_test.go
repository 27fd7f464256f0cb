package azure_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"logstow/internal/hint"
	"logstow/internal/test/testpki"

	"logstow/store/azure"
)

// proxyChild is the variable that makes TestProxyChild list a container: net/http
// and crypto/x509 look at the environment once in a process.
const proxyChild = "LOGSTOW_TEST_PROXY_CHILD"

// connectProxy takes CONNECT requests with a password and joins all of them to one server.
type connectProxy struct {
	*httptest.Server
	to       string
	joined   atomic.Int64
	asked    atomic.Value // the last host
	password string
}

func newConnectProxy(t *testing.T, to string) *connectProxy {
	t.Helper()
	p := &connectProxy{to: to, password: "Basic dXNlcjpDQU5BUlk="} // user:CANARY
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Store(r.Host)
	if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != p.password {
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	var d net.Dialer
	server, err := d.DialContext(r.Context(), "tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	p.joined.Add(1)
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
	<-done
}

// TestProxyChild is run by the tests below in a process of its own.
func TestProxyChild(t *testing.T) {
	if os.Getenv(proxyChild) == "" {
		t.Skip("runs inside TestProxy")
	}
	cred, err := azure.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, azure.Options{Container: "logs", Credential: cred, CAFile: os.Getenv("LOGSTOW_CA_FILE")})
	err = do(t.Context(), s, list)
	fmt.Println("listed:", err)
	if err != nil {
		fmt.Println(hint.Text(err))
	}
}

// TestProxy goes through a proxy that needs a password to a server whose
// certificate a private authority has signed.
func TestProxy(t *testing.T) {
	t.Parallel()
	pki := testpki.New(t)
	storage := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sig") != "CANARY+sig=" {
			t.Errorf("asked for %s", r.URL)
		}
		fmt.Fprint(w, `<?xml version="1.0"?><EnumerationResults><Blobs/></EnumerationResults>`)
	}))
	certificate, err := tls.LoadX509KeyPair(pki.Path("server.pem"), pki.Path("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	storage.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	storage.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	storage.StartTLS()
	t.Cleanup(storage.Close)
	child := func(t *testing.T, vars ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyChild$")
		cmd.Env = append([]string{
			proxyChild + "=1", "PATH=" + os.Getenv("PATH"), "LOGSTOW_AZURITE=none", // none is started for it
			"AZURE_STORAGE_ACCOUNT=acct", "AZURE_STORAGE_SAS_TOKEN=" + testSAS, "AZURE_STORAGE_BLOB_ENDPOINT=https://storage.test:443",
			"AZURE_STORAGE_TABLE_ENDPOINT=https://storage.test:443",
		}, vars...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		if strings.Contains(string(out), "CANARY") {
			t.Errorf("a secret is in the output: %s", out)
		}
		return string(out)
	}
	for _, variable := range []string{"LOGSTOW_CA_FILE", "SSL_CERT_FILE"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			p := newConnectProxy(t, storage.Listener.Addr().String())
			out := child(t, variable+"="+pki.Path("ca.pem"), "HTTPS_PROXY=http://user:CANARY@"+p.Listener.Addr().String())
			if !strings.Contains(out, "listed: <nil>") || p.joined.Load() != 1 || p.asked.Load() != "storage.test:443" {
				t.Errorf("joined %d times, asked for %v, output: %s", p.joined.Load(), p.asked.Load(), out)
			}
		})
	}
	t.Run("no authority", func(t *testing.T) {
		t.Parallel()
		p := newConnectProxy(t, storage.Listener.Addr().String())
		out := child(t, "HTTPS_PROXY=http://user:CANARY@"+p.Listener.Addr().String())
		if !strings.Contains(out, "LOGSTOW_CA_FILE") || !strings.Contains(out, "is not trusted: ") {
			t.Errorf("output: %s", out)
		}
	})
	t.Run("wrong password", func(t *testing.T) {
		t.Parallel()
		p := newConnectProxy(t, storage.Listener.Addr().String())
		out := child(t, "HTTPS_PROXY=http://user:CANARY2@"+p.Listener.Addr().String())
		if !strings.Contains(out, "Proxy Authentication Required") || p.joined.Load() != 0 {
			t.Errorf("joined %d times, output: %s", p.joined.Load(), out)
		}
	})
}

func TestCAFileRefused(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	cred := fromConnection(t, "AccountName=acct;AccountKey="+testKey)
	for path, says := range map[string]string{empty: "want PEM", empty + ".missing": "no such file"} {
		s, err := azure.Open(context.Background(), azure.Options{Container: "logs", Credential: cred, CAFile: path})
		if s != nil || err == nil || !strings.Contains(hint.Text(err), says) || !strings.Contains(hint.Text(err), path) {
			t.Errorf("got %v, %v, want %q", s, err, says)
		}
	}
}
