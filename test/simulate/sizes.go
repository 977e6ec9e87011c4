package simulate

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// maxReport is report.maxBytes: some reports are larger, and lose details.
const maxReport = 3 << 10

// sizes are the bounds of objects in bytes: that of a checkpoint is in the docs, that of a record is the 400 KiB of its
// changes, shards and edits, and what 5 shards and an end need.
var sizes = map[string]int{"LoadTestCheckpoint": 88 << 10, "LoadTestRun": 432 << 10, "LoadTest": 256 << 10}

// sized: what an operator stores stays within its bounds.
func (l *rules) sized(o client.Object) {
	const rule = "objects stay within their bounds"
	if c, ok := o.(*corev1.ConfigMap); ok && len(c.BinaryData[v1alpha1.KeyReport]) > maxReport {
		l.Broken(rule, "report %s has %d bytes", c.Name, len(c.BinaryData[v1alpha1.KeyReport]))
	}
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if sizes[kind] == 0 {
		return
	}
	if raw, err := json.Marshal(o); err != nil || len(raw) > sizes[kind] {
		l.Broken(rule, "%s %s has %d bytes, %v", kind, o.GetName(), len(raw), err)
	}
}
