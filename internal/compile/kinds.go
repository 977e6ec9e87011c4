package compile

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// object reads a document.
func (l *loader) object(doc []byte) {
	var content any
	duplicates, err := kjson.UnmarshalStrict(doc, &content, kjson.DisallowDuplicateFields)
	if err != nil {
		l.failf(l.here(), "is not JSON")
		return
	}
	if len(duplicates) > 0 && !l.repeated() {
		for _, d := range duplicates {
			l.failf(l.here(), "%s", d.Error())
		}
	}
	switch m, _ := content.(map[string]any); {
	case content == nil: // nothing but comments
	case m["apiVersion"] == "v1" && m["kind"] == "List":
		l.list(m["items"])
	default:
		l.one(content)
	}
}

// list reads the items of a List, such as kubectl get prints.
func (l *loader) list(items any) {
	all, is := items.([]any)
	if !is {
		l.failf(l.here()+": items", "must be a list of objects")
	}
	for i, item := range all {
		l.item = fmt.Sprintf("items[%d]", i)
		l.one(item)
	}
	l.item = ""
}

// one reads an object.
func (l *loader) one(content any) {
	var meta metav1.TypeMeta
	m, ok := content.(map[string]any)
	if !ok {
		l.failf(l.here(), "must be an object with apiVersion and kind")
		return
	}
	meta.APIVersion, _ = m["apiVersion"].(string)
	meta.Kind, _ = m["kind"].(string)
	switch {
	case meta.APIVersion == v1alpha1.GroupVersion.String() && meta.Kind == loadTestKind:
		l.loadTest(m)
	case meta.APIVersion == "v1" && meta.Kind == "ConfigMap":
		l.configMaps = append(l.configMaps, *decodeObject[corev1.ConfigMap](l, m))
	case meta.APIVersion == "v1" && meta.Kind == "Secret":
		l.secrets = append(l.secrets, *decodeObject[corev1.Secret](l, m))
	case l.every && l.other(meta, m):
	default:
		l.otherKind(meta)
	}
}

// otherKind reports a document of a kind that a manifest cannot have.
func (l *loader) otherKind(meta metav1.TypeMeta) {
	const allowed = "allowed: LoadTest, ConfigMap, Secret"
	versions := map[string]string{loadTestKind: v1alpha1.GroupVersion.String(),
		scheduleKind: v1alpha1.GroupVersion.String(), "ConfigMap": "v1", "Secret": "v1"}
	want, known := versions[meta.Kind]
	switch {
	case meta.Kind == "":
		l.failf(l.here()+": kind", "is required; %s", allowed)
	case meta.Kind == scheduleKind && meta.APIVersion == versions[loadTestKind]:
		l.failf(l.here()+": kind", "a LoadTestSchedule runs in a cluster only: apply it with kubectl apply, look at its condition Ready, and run its template with "+
			"kubectl h2surge run --from schedule/NAME; %s", allowed)
	case !known:
		l.failf(l.here()+": kind", "%q is not supported; %s%s", meta.Kind, allowed,
			didYouMean(meta.Kind, slices.Sorted(maps.Keys(versions))))
	case meta.APIVersion == "":
		l.failf(l.here()+": apiVersion", "is required; allowed for a %s: %s", meta.Kind, want)
	default:
		l.failf(l.here()+": apiVersion", "%q is not supported; allowed for a %s: %s", meta.APIVersion, meta.Kind, want)
	}
}
