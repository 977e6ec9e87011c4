package dial

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestRoots: without root certificates of the system, those of the program verify targets. They are read only for a target that needs them.
// The roots of a process are read once, so each case has a process of its own.
func TestRoots(t *testing.T) {
	cases := map[string]struct {
		tls  rv.TLS
		want bool
	}{
		"verified":     {rv.TLS{MinVersion: "1.2", MaxVersion: "1.3"}, true},
		"not verified": {rv.TLS{MinVersion: "1.2", MaxVersion: "1.3", InsecureSkipVerify: true}, false},
	}
	const variable = "H2SURGE_TEST_ROOTS"
	if name := os.Getenv(variable); name != "" {
		if _, err := ClientConfig(new(cases[name].tls), nil); err != nil {
			t.Fatal(err)
		}
		pool, err := x509.SystemCertPool()
		if got := err == nil && !pool.Equal(x509.NewCertPool()); got != cases[name].want {
			t.Errorf("%s: there are roots: %v, want %v", name, got, cases[name].want)
		}
		return
	}
	for name := range cases {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRoots$")
		cmd.Env = append(os.Environ(), variable+"="+name, "SSL_CERT_FILE=/dev/null", "SSL_CERT_DIR=/does/not/exist")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
