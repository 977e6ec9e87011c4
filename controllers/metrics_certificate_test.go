package controllers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

// TestMetricsCertificate: the metrics server has the certificate of metrics.certDir, which a client verifies by its name.
func TestMetricsCertificate(t *testing.T) {
	const name = "h2surge-metrics.h2surge-system.svc"
	cert, key, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &configv1alpha1.OperatorConfig{Metrics: configv1alpha1.Metrics{BindAddress: "127.0.0.1:0", CertDir: t.TempDir()}}
	cfg.SetDefaults(configv1alpha1.Environment{})
	for file, data := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(cfg.Metrics.CertDir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := metricsserver.NewServer(ManagerOptions(cfg, nil).Metrics, &rest.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- server.Start(ctx) }()
	bound := server.(interface{ GetBindAddr() string })
	err = wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return bound.GetBindAddr() != "", nil })
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	dialer := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(ctx, "tcp", bound.GetBindAddr())
	if err != nil {
		t.Error(err)
	} else if err := conn.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
