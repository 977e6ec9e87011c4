//go:build s3

package storage

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// startServer starts a real S3 server with the folder results as its only bucket, and returns its URL and that folder.
func startServer(t *testing.T) (endpoint, bucket string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", "tools", "versitygw"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	root := t.TempDir()
	bucket = filepath.Join(root, "results")
	if err := os.Mkdir(bucket, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--access", "key", "--secret", "secret-of-the-test", "--port", address, "posix", "--nometa", root)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	deadline := time.Now().Add(30 * time.Second)
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return "http://" + address, bucket
		}
		if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not listen: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestRealServer: a real S3 server takes the files, replaces them at the second upload, serves them, and refuses a wrong
// bucket and wrong credentials with its own text.
func TestRealServer(t *testing.T) {
	endpoint, bucket := startServer(t)
	s := newStorage(t, endpoint, "results")
	ctx := context.Background()
	for _, want := range []string{`{"attempt":1}`, `{"attempt":2}`} {
		url, err := s.Upload(ctx, run, []byte(want), &runnerv1alpha1.Report{})
		if err != nil {
			t.Fatal(err)
		}
		if url != endpoint+"/results/team/smoke/1-2-3/report.html" {
			t.Errorf("URL %s", url)
		}
		got, err := os.ReadFile(filepath.Join(bucket, "team", "smoke", "1-2-3", "report.json"))
		if err != nil || string(got) != want {
			t.Errorf("the bucket has %q, error %v; want %q", got, err, want)
		}
	}
	object, err := s.client.GetObject(ctx, "results", "team/smoke/1-2-3/report.html", minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := io.ReadAll(object); err != nil || !strings.Contains(string(page), "<html") {
		t.Errorf("report.html has %d bytes, error %v", len(page), err)
	}
	response, err := http.Get(endpoint + "/results/team/smoke/1-2-3/report.html")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("without credentials: %s; want 403", response.Status)
	}
	if _, err := newStorage(t, endpoint, "missing").Upload(ctx, run, nil, &runnerv1alpha1.Report{}); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("a bucket that does not exist: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	other := *s.cfg
	wrong, err := New(&other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Upload(ctx, run, nil, &runnerv1alpha1.Report{}); err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("wrong credentials: %v", err)
	}
}
