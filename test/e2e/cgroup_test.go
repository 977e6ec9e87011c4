//go:build e2e

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Where a node is this machine, as with hack/cluster and kind, its containers' cgroups can be
// seen, and their processes killed as a crash would. Elsewhere these functions find nothing.

// cgroups maps the ids of this machine's containers to the folders of their cgroups. Version 1
// has a hierarchy for each controller; version 2 has one for all.
func cgroups(controller string) map[string]string {
	root := filepath.Join("/sys/fs/cgroup", controller)
	if _, err := os.Stat(root); err != nil {
		root = "/sys/fs/cgroup"
	}
	found := map[string]string{}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // cgroups come and go
		}
		// The name is "ID" or "cri-containerd-ID.scope".
		if name := strings.TrimSuffix(d.Name(), ".scope"); len(name) >= containerIDLength {
			found[name[len(name)-containerIDLength:]] = path
		}
		return nil
	})
	return found
}

// containerIDLength is that of a SHA-256 in hexadecimal.
const containerIDLength = 64

// containerID is without the runtime's name: "containerd://ID".
func containerID(c corev1.ContainerStatus) string {
	_, id, _ := strings.Cut(c.ContainerID, "://")
	return id
}

// firstOf reads the first of some files that is there.
func firstOf(dir string, names ...string) string {
	for _, n := range names {
		if b, err := os.ReadFile(filepath.Join(dir, n)); err == nil {
			return strings.TrimSpace(string(b))
		}
	}
	return ""
}
