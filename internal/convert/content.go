package convert

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/placeholder"
)

const (
	// maxGathered is the most that a ConfigMap takes here, in octets. The API server has a limit of
	// 1 MiB, in which base64 and names count too.
	maxGathered = 700 << 10
	// MaxBody is the most characters of a body that stands in the template.
	MaxBody = 256 << 10
	// MaxScript is the same for a script.
	MaxScript = 64 << 10
)

// filesName is the ConfigMap that holds what is gathered.
func (d *Draft) filesName() string { return d.LoadTest.Name + "-files" }

// Gather puts a content into the ConfigMap that comes with the LoadTest, under a key made of name.
// What does not fit there is referred to as the file that it came from, if it did, which runners
// need then.
func (d *Draft) Gather(from, name, file string, content []byte) v1alpha1.ContentSource {
	if d.size+len(content) > maxGathered {
		if file == "" {
			d.Fail(from, "with this the ConfigMap of the files would have more than %d octets, which is too large", maxGathered)
			return v1alpha1.ContentSource{File: "too-large"}
		}
		d.Warn(from, "%s is too large for a ConfigMap; it is named as a file, which must be where the runners run", file)
		return v1alpha1.ContentSource{File: file}
	}
	key := d.fileKey(name, content)
	if _, has := d.files[key]; !has {
		d.files[key] = content
		d.size += len(content)
	}
	return v1alpha1.ContentSource{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: d.filesName(), Key: key}}
}

// fileKey is one whose content is the same, or a new one.
func (d *Draft) fileKey(name string, content []byte) string {
	base := mapped(name, '-', func(c byte) bool { return placeholder.IsNameOctet(c) || c == '.' || c == '-' })
	base = cmp.Or(strings.TrimLeft(base, "."), "file")
	base = base[:min(len(base), 200)]
	key := base
	for n := 2; ; n++ {
		if old, has := d.files[key]; !has || string(old) == string(content) {
			return key
		}
		key = fmt.Sprintf("%d-%s", n, base)
	}
}

// GatherSecret adds a Secret of the LoadTest and returns its name.
func (d *Draft) GatherSecret(suffix string, kind corev1.SecretType, data map[string]string) string {
	name := d.LoadTest.Name + "-" + suffix
	d.secrets = append(d.secrets, corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       kind,
		StringData: data,
	})
	return name
}

// Body sets the body of a template. Short text is part of the template. Long text and binary content go into the
// ConfigMap, or are part of the template if there is none.
func (d *Draft) Body(t *v1alpha1.Template, from, file string, content []byte) {
	isText := utf8.Valid(content)
	text := Literal(string(content))
	switch {
	case isText && (d.Unsaved || len(text) <= MaxBody):
		t.Body = text
		return
	case d.Unsaved:
		t.BodyBase64 = base64.StdEncoding.EncodeToString(content)
		return
	}
	source := d.Gather(from, cmp.Or(file, t.Name+".body"), file, content)
	t.BodyFrom = &v1alpha1.BodyFrom{ConfigMapKeyRef: source.ConfigMapKeyRef, File: source.File,
		Encoding: v1alpha1.EncodingBinary}
}

// configMap is nil when nothing was gathered.
func (d *Draft) configMap() *corev1.ConfigMap {
	if len(d.files) == 0 {
		return nil
	}
	out := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: d.filesName()},
	}
	for _, key := range slices.Sorted(maps.Keys(d.files)) {
		if content := d.files[key]; utf8.Valid(content) {
			if out.Data == nil {
				out.Data = map[string]string{}
			}
			out.Data[key] = string(content)
		} else {
			if out.BinaryData == nil {
				out.BinaryData = map[string][]byte{}
			}
			out.BinaryData[key] = content
		}
	}
	return out
}
