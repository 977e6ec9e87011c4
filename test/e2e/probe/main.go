// Command probe is what the user stories run in pods of their own:
//
//	probe serve                     GET :8080/cpus tells the CPUs its container may use
//	probe control ADDRESS [DIR]     tries to speak to a runner's control port as a stranger
//
// control prints one JSON object a line, one for each way it tried. DIR holds ca.crt, tls.crt and
// tls.key of a run, as a runner has them.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	runnerv1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func main() {
	log.SetFlags(0)
	args := append(os.Args[1:], "", "", "")
	switch {
	case args[0] == "serve":
		serve()
	case args[0] == "control" && args[1] != "":
		if err := control(args[1], args[2]); err != nil {
			log.Fatal(err)
		}
	default:
		log.Fatal("usage: probe serve | probe control ADDRESS [DIR]")
	}
}

func serve() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cpus", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, allowedCPUs())
	})
	s := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}

// allowedCPUs is the list the kernel lets this process run on, such as "0,2-3".
func allowedCPUs() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:\t")
	list, _, _ = strings.Cut(list, "\n")
	return list
}

// Attempt is how one way of speaking to the control port went.
type Attempt struct {
	As     string `json:"as"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Status of the answer; zero when there was none.
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
	Body   string `json:"body,omitempty"`
}

// control says first whether the port is open at all: a refusal counts only when it is.
func control(address, dir string) error {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	_ = conn.Close()
	out := json.NewEncoder(os.Stdout)
	stranger, err := selfSigned()
	if err != nil {
		return err
	}
	identities := []identity{{as: "nobody"}, {as: "self-signed", certificate: stranger}}
	if dir != "" {
		leaf, err := tls.LoadX509KeyPair(filepath.Join(dir, runnerv1.TLSCertFile), filepath.Join(dir, runnerv1.TLSKeyFile))
		if err != nil {
			return err
		}
		identities = append(identities, identity{as: "runner", certificate: leaf})
	}
	for _, who := range identities {
		for _, a := range who.attempts("https://" + address) {
			if err := out.Encode(a); err != nil {
				return err
			}
		}
	}
	return out.Encode(request(http.DefaultClient, "plaintext", http.MethodGet, "http://"+address, runnerv1.PathSnapshot,
		""))
}

// identity is who a stranger claims to be.
type identity struct {
	as string
	// certificate is sent whatever the server asks for; the zero value is none.
	certificate tls.Certificate
}

func (i identity) attempts(base string) []Attempt {
	client := &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify:   true, // a stranger does not care whom it talks to
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &i.certificate, nil },
		}},
	}
	return []Attempt{
		request(client, i.as, http.MethodGet, base, runnerv1.PathSnapshot, ""),
		request(client, i.as, http.MethodPut, base, runnerv1.PathStop, `{"reason":"stranger","drain":false}`),
		request(client, i.as, http.MethodGet, base, "/metrics", ""),
	}
}

func request(client *http.Client, as, method, base, path, body string) Attempt {
	a := Attempt{As: as, Method: method, Path: path}
	req, err := http.NewRequest(method, base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		a.Error = err.Error()
		return a
	}
	resp, err := client.Do(req)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	a.Status, a.Body = resp.StatusCode, string(text)
	return a
}

// selfSigned is a client certificate that carries the operator's name but comes from no CA.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: runnerv1.OperatorName},
		DNSNames:     []string{runnerv1.OperatorName},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
