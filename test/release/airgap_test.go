//go:build release

package release

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

const root = "../.."

// command runs a program in a folder, with an empty home, and returns its output.
func command(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", filepath.Base(program), args, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// unpack unpacks the archive of "make airgap" in an empty folder and returns its only folder.
func unpack(t *testing.T) string {
	t.Helper()
	archives, err := filepath.Glob(root + "/dist/h2surge-airgap-*.tar.gz")
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives: %v, %v; make release-test makes one", archives, err)
	}
	dir := t.TempDir()
	command(t, ".", "tar", "-xzf", archives[0], "-C", dir)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("entries: %v, %v", entries, err)
	}
	return filepath.Join(dir, entries[0].Name())
}

// registry starts a container registry on loopback and returns its HOST:PORT.
func registry(t *testing.T, crane string) string {
	t.Helper()
	cmd := exec.Command(crane, "registry", "serve", "--address", "127.0.0.1:0")
	cmd.Env = []string{"PORT="}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	buffer, read := make([]byte, 4096), ""
	for !strings.HasSuffix(read, "\n") {
		n, err := out.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, read)
		}
		read += string(buffer[:n])
	}
	_, port, ok := strings.Cut(strings.TrimSpace(read), "serving on port ")
	if !ok {
		t.Fatalf("the registry printed %q", read)
	}
	go func() { // it must not wait for a reader of its log
		for {
			if _, err := out.Read(buffer); err != nil {
				return
			}
		}
	}()
	return "127.0.0.1:" + port
}

// TestAirgap follows docs/operate/air-gapped.md as far as it goes without a cluster: it uses nothing but the archive, a
// registry, an API server, kubectl and Helm.
func TestAirgap(t *testing.T) {
	dir := unpack(t)
	command(t, dir, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	bin := filepath.Join(dir, "bin", runtime.GOOS, runtime.GOARCH)
	crane := filepath.Join(bin, "crane")
	host := registry(t, crane)
	published := strings.TrimSpace(read(t, filepath.Join(dir, "IMAGE")))
	tag := published[strings.LastIndex(published, ":")+1:]
	private := host + "/mirror/h2surge"
	command(t, dir, crane, "push", "image", private+":"+tag)

	t.Run("image", func(t *testing.T) {
		manifest := command(t, dir, crane, "manifest", private+":"+tag)
		platforms, err := filepath.Glob(filepath.Join(dir, "bin/*/*"))
		if err != nil || strings.Count(manifest, `"architecture"`) != len(platforms) {
			t.Errorf("platforms %v, %v; manifest\n%s", platforms, err, manifest)
		}
		for _, p := range platforms {
			if !strings.Contains(manifest, fmt.Sprintf("%q", filepath.Base(p))) {
				t.Errorf("%s is missing in\n%s", p, manifest)
			}
		}
	})
	t.Run("programs", func(t *testing.T) {
		for _, program := range []string{"h2surge", "kubectl-h2surge"} {
			if out := command(t, dir, filepath.Join(bin, program), "--version"); !strings.Contains(out, " "+tag+" ") {
				t.Errorf("%s: %q", program, out)
			}
		}
	})
	t.Run("chart", func(t *testing.T) { testChart(t, dir, host, private, tag) })
	t.Run("install.yaml", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "install.yaml")
		text := command(t, dir, "bash", "-c", rename(t, dir, private))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		testInstall(t, file, private+":"+tag)
	})
}

// rename returns the command of the page in the archive that prints install.yaml with the image of another registry.
func rename(t *testing.T, dir, image string) string {
	t.Helper()
	_, after, _ := strings.Cut(read(t, filepath.Join(dir, "air-gapped.md")), "\n$ sed ")
	arguments, _, ok := strings.Cut(after, " | kubectl apply -f -\n")
	if !ok {
		t.Fatal("air-gapped.md has no sed for install.yaml")
	}
	return "sed " + strings.ReplaceAll(arguments, "registry.internal:5000/h2surge", image)
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// testChart pushes the chart to the registry, pulls it again and renders it with the image of the registry.
func testChart(t *testing.T, dir, host, private, tag string) {
	helm, err := filepath.Abs(root + "/bin/tools/helm")
	if err != nil {
		t.Fatal(err)
	}
	charts, err := filepath.Glob(dir + "/h2surge-*.tgz")
	if err != nil || len(charts) != 1 {
		t.Fatalf("charts: %v, %v", charts, err)
	}
	command(t, dir, helm, "push", "--plain-http", charts[0], "oci://"+host+"/charts")
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(charts[0]), "h2surge-"), ".tgz")
	pulled := t.TempDir()
	command(t, pulled, helm, "pull", "--plain-http", "oci://"+host+"/charts/h2surge", "--version", version)
	if read(t, filepath.Join(pulled, filepath.Base(charts[0]))) != read(t, charts[0]) {
		t.Error("the chart of the registry differs from the one that was pushed")
	}
	out := command(t, pulled, helm, "template", "h2surge", filepath.Base(charts[0]), "--kube-version=1.33.0", "--set", "image.repository="+private)
	if !strings.Contains(out, "image: "+private+":"+tag+"\n") && !strings.Contains(out, `image: "`+private+":"+tag+`"`) {
		t.Errorf("no container has the image %s:%s", private, tag)
	}
	if strings.Contains(out, "runAsUser") || strings.Contains(out, "fsGroup") {
		t.Error("a pod has a user or a group, which OpenShift assigns")
	}
}

// testInstall applies the file to an API server, and creates a LoadTest there.
func testInstall(t *testing.T, file, image string) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Skip("SKIPPED: KUBEBUILDER_ASSETS is not set; make release-test sets it")
	}
	env := &envtest.Environment{}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Stop() })
	user, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	admin := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(admin, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl := filepath.Join(assets, "kubectl")
	for range 2 { // again, as an update does
		command(t, ".", kubectl, "--kubeconfig", admin, "apply", "-f", file)
	}
	command(t, ".", kubectl, "--kubeconfig", admin, "wait", "--for=condition=Established", "crd", "--all", "--timeout=1m")

	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	operator := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "h2surge-system", Name: "h2surge-controller-manager"}, operator); err != nil {
		t.Fatal(err)
	}
	if got := operator.Spec.Template.Spec.Containers[0].Image; got != image {
		t.Errorf("image %s, want %s", got, image)
	}
	if err := c.Create(t.Context(), builder.Minimal("first").Namespace("default").Build()); err != nil {
		t.Error(err)
	}
}
