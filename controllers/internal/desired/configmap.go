package desired

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	statev1alpha1 "github.com/h2surge/h2surge/api/state/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// Plan is the ConfigMap that runners read their plan from: gz as internal/plan wrote it, and the
// compiler's warnings, for the operator to tell after a restart.
func Plan(lt *v1alpha1.LoadTest, digest string, gz []byte, warnings string) *corev1.ConfigMap {
	cm := configMap(lt, PlanName(lt, digest), ComponentPlan)
	cm.Annotations = map[string]string{AnnotationPlanDigest: digest}
	cm.BinaryData = map[string][]byte{KeyPlan: gz}
	if warnings != "" {
		cm.Data = map[string]string{KeyWarnings: warnings}
	}
	return cm
}

// Run is the run record, without its contents.
func Run(lt *v1alpha1.LoadTest) *statev1alpha1.LoadTestRun {
	return &statev1alpha1.LoadTestRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: statev1alpha1.GroupVersion.String(), Kind: "LoadTestRun"},
		ObjectMeta: meta(lt, RunName(lt), ComponentRun),
	}
}

// Report is the ConfigMap with the report.
func Report(lt *v1alpha1.LoadTest, gz []byte) *corev1.ConfigMap {
	cm := configMap(lt, ReportName(lt), ComponentReport)
	cm.BinaryData = map[string][]byte{v1alpha1.KeyReport: gz}
	return cm
}

// maxReport bounds a report of the operator without compression, in octets.
const maxReport = 64 << 20

// DecodeReport returns a report that the operator stored, as JSON and decoded.
func DecodeReport(cm *corev1.ConfigMap) (raw []byte, report *runnerv1alpha1.Report, err error) {
	if raw, err = unzip(cm, maxReport); err == nil {
		err = json.Unmarshal(raw, &report)
	}
	return raw, report, err
}

// BaselineSize bounds the reports that the baselines of a run take together. The report of a test with 256 steps and
// 256 shards with 64 CPUs each has some 50,000 elements and 80,000 members.
var BaselineSize = runnerv1alpha1.Size{Octets: 16 << 20, Elements: 64 << 10, Members: 256 << 10}

// DecodeBaseline returns a report that others can have written. Its size is taken off left, which the baselines of a
// run share.
func DecodeBaseline(cm *corev1.ConfigMap, left *runnerv1alpha1.Size) (*runnerv1alpha1.Report, error) {
	raw, err := unzip(cm, left.Octets)
	if err != nil {
		return nil, err
	}
	report := &runnerv1alpha1.Report{}
	return report, runnerv1alpha1.UnmarshalReport(raw, report, left)
}

// unzip returns a report as JSON of at most so many octets.
func unzip(cm *corev1.ConfigMap, most int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(cm.BinaryData[v1alpha1.KeyReport]))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	if err == nil && len(raw) > most {
		err = fmt.Errorf("it has too many octets; allowed: at most %d", most)
	}
	return raw, err
}

// ReportDigest returns the SHA-256 of a stored report in hexadecimal.
func ReportDigest(cm *corev1.ConfigMap) string {
	return fmt.Sprintf("%x", sha256.Sum256(cm.BinaryData[v1alpha1.KeyReport]))
}

// IsReport returns whether the operator stored the report: it has the digest, and it is immutable.
func IsReport(cm *corev1.ConfigMap, digest string) bool {
	return ReportDigest(cm) == digest && ptr.Deref(cm.Immutable, false)
}

func configMap(lt *v1alpha1.LoadTest, name, component string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: meta(lt, name, component),
		Immutable:  ptr.To(true),
	}
}

func meta(lt *v1alpha1.LoadTest, name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       lt.Namespace,
		Name:            name,
		Labels:          labels(lt, component),
		OwnerReferences: []metav1.OwnerReference{owner(lt)},
	}
}

// owner does not block the owner's deletion: nothing of a run but its Job needs to end before.
func owner(lt *v1alpha1.LoadTest) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       "LoadTest",
		Name:       lt.Name,
		UID:        lt.UID,
		Controller: ptr.To(true),
	}
}
