package compile

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// FilesDir is the directory in which runners find the content of ConfigMaps and Secrets. The plan has the names of the
// files, and no secrets. In a pod, the kubelet writes the files. The command line writes them to a directory of its
// own.
const FilesDir = "/etc/h2surge/files"

// SchemasDir is the directory in which runners find the ConfigMaps that have JSON Schemas, each in a directory of its
// name with all its keys, because a schema can refer to other keys.
const SchemasDir = "/etc/h2surge/schemas"

// Kind is the kind of an object that files come from.
type Kind string

const (
	// ConfigMap has content that is not secret.
	ConfigMap Kind = "ConfigMap"
	// Secret has secret content.
	Secret Kind = "Secret"
)

// Mount is an object of the LoadTest's namespace whose keys runners need as files.
type Mount struct {
	Kind Kind
	Name string
	// Items are in the order of their keys.
	Items []Item
	// Schemas: the runners need all keys below SchemasDir, too.
	Schemas bool
}

// Item is a key of an object and the file it becomes.
type Item struct {
	Key string
	// Path is below FilesDir.
	Path string
	// Field of the spec that asks for it.
	Field *field.Path
}

// Mounts lists what must be below FilesDir for the plan of a spec that compiles: ConfigMaps first,
// then Secrets, each kind by name. A key that several fields ask for is one item. The same spec gives
// the same list.
func Mounts(spec *v1alpha1.LoadTestSpec) []Mount {
	m := map[Kind]map[string]map[string]*field.Path{ConfigMap: {}, Secret: {}}
	schemas := map[string]bool{}
	sources(spec, func(s source) {
		if s.file != "" || s.podField != "" {
			return
		}
		keys := m[s.kind]
		if keys[s.name] == nil {
			keys[s.name] = map[string]*field.Path{}
		}
		if keys[s.name][s.key] == nil {
			keys[s.name][s.key] = s.at
		}
		schemas[s.name] = schemas[s.name] || s.schema
	})
	var out []Mount
	for _, kind := range []Kind{ConfigMap, Secret} {
		for _, name := range slices.Sorted(maps.Keys(m[kind])) {
			mount := Mount{Kind: kind, Name: name, Schemas: kind == ConfigMap && schemas[name]}
			for _, key := range slices.Sorted(maps.Keys(m[kind][name])) {
				mount.Items = append(mount.Items, Item{Key: key, Path: itemPath(kind, name, key), Field: m[kind][name][key]})
			}
			out = append(out, mount)
		}
	}
	return out
}

// File is a file of Mounts, for the command line.
type File struct {
	// Path is below FilesDir, or in the directory schemas, which stands for SchemasDir.
	Path    string
	Content []byte
}

// Files returns the content of the ConfigMaps and Secrets of a manifest that its LoadTest refers to. A missing object
// or key is an error of the field that refers to it.
func Files(m *Manifest) ([]File, field.ErrorList) {
	var out []File
	var errs field.ErrorList
	for _, mount := range Mounts(&m.LoadTest.Spec) {
		data, found := m.Data(mount.Kind, mount.Name)
		for _, item := range mount.Items {
			content, has := data[item.Key]
			switch {
			case !found:
				errs = append(errs, field.Invalid(item.Field, field.OmitValueType{},
					fmt.Sprintf("there is no %s %q of namespace %q in the manifest; add it as a document, or name files instead",
						mount.Kind, mount.Name, m.LoadTest.Namespace)))
			case !has:
				errs = append(errs, field.Invalid(item.Field, field.OmitValueType{}, fmt.Sprintf("%s %q has no key %q", mount.Kind,
					mount.Name, item.Key)))
			}
			out = append(out, File{Path: item.Path, Content: content})
			if !found {
				break // reported once
			}
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			if mount.Schemas {
				out = append(out, File{Path: path.Join(path.Base(SchemasDir), mount.Name, key), Content: data[key]})
			}
		}
	}
	return out, errs
}

// Data returns the data of an object in the LoadTest's namespace. If two objects have the same name, the last one
// counts, as with kubectl apply.
func (m *Manifest) Data(kind Kind, name string) (data map[string][]byte, found bool) {
	take := func(meta *metav1.ObjectMeta, binary map[string][]byte, text map[string]string) {
		if meta.Name != name || meta.Namespace != m.LoadTest.Namespace {
			return
		}
		found, data = true, maps.Clone(binary)
		if data == nil {
			data = map[string][]byte{}
		}
		for k, v := range text {
			data[k] = []byte(v)
		}
	}
	if kind == ConfigMap {
		for i := range m.ConfigMaps {
			take(&m.ConfigMaps[i].ObjectMeta, m.ConfigMaps[i].BinaryData, m.ConfigMaps[i].Data)
		}
		return data, found
	}
	for i := range m.Secrets {
		take(&m.Secrets[i].ObjectMeta, m.Secrets[i].Data, m.Secrets[i].StringData)
	}
	return data, found
}

// OwnFile is a file that a spec names itself.
type OwnFile struct {
	// Path is the path as in the spec, on the machine of the runner.
	Path string
	// Field of the spec that asks for it.
	Field *field.Path
}

// OwnFiles lists the files that a spec names itself, in the order of the spec, for the command line.
func OwnFiles(spec *v1alpha1.LoadTestSpec) (out []OwnFile) {
	sources(spec, func(s source) {
		if s.file != "" {
			out = append(out, OwnFile{s.file, s.at})
		}
	})
	return out
}

// itemPath is relative to FilesDir. Names and keys have no slash in them.
func itemPath(kind Kind, name, key string) string {
	return path.Join(strings.ToLower(string(kind))+"s", name, key)
}

func (c *checker) clientCertificate(at *field.Path, own *v1alpha1.ClientCertificate) (certificate, key string) {
	if own.Files != nil {
		return c.file(at.Child("files", "certificate"), own.Files.Certificate), c.file(at.Child("files", "key"),
			own.Files.Key)
	}
	if own.SecretRef == nil {
		return "", ""
	}
	return mounted(Secret, own.SecretRef.Name, corev1.TLSCertKey), mounted(Secret, own.SecretRef.Name,
		corev1.TLSPrivateKeyKey)
}

// source returns the path of the file that has the content of a key of a ConfigMap or Secret, or the path of the file
// itself.
func (c *checker) source(at *field.Path, configMap, secret *v1alpha1.KeyReference, file string) string {
	switch {
	case configMap != nil:
		return mounted(ConfigMap, configMap.Name, configMap.Key)
	case secret != nil:
		return mounted(Secret, secret.Name, secret.Key)
	}
	return c.file(at.Child("file"), file)
}

// contentSource returns the path of the file that has a content.
func (c *checker) contentSource(at *field.Path, in *v1alpha1.ContentSource) string {
	return c.source(at, in.ConfigMapKeyRef, in.SecretKeyRef, in.File)
}

// valueFrom compiles a value that is not in the manifest. The runner removes a line end at its end.
func (c *checker) valueFrom(at *field.Path, in *v1alpha1.ValueFrom) *rv.Content {
	out := &rv.Content{File: c.source(at, in.ConfigMapKeyRef, in.SecretKeyRef, in.File), Trim: true}
	if in.FieldRef != nil {
		out.Env = podFieldEnv(in.FieldRef.FieldPath)
	}
	return out
}

// PodField is a field of the runner pod that the spec refers to.
type PodField struct {
	// Env is the variable of the runner's environment in which the plan looks for the value.
	Env string
	// Path is the field, such as spec.nodeName.
	Path string
	// Field is the place in the spec that refers to it first.
	Field *field.Path
}

// PodFields lists the fields of the runner pod that a spec refers to, each once, sorted by path.
func PodFields(spec *v1alpha1.LoadTestSpec) []PodField {
	places := map[string]*field.Path{}
	sources(spec, func(s source) {
		if s.podField != "" && places[s.podField] == nil {
			places[s.podField] = s.at
		}
	})
	var out []PodField
	for _, path := range slices.Sorted(maps.Keys(places)) {
		out = append(out, PodField{podFieldEnv(path), path, places[path]})
	}
	return out
}

// WithoutPod returns an error for each field of the pod that a spec refers to, for the command line, which has no
// pod.
func WithoutPod(spec *v1alpha1.LoadTestSpec) (errs field.ErrorList) {
	for _, f := range PodFields(spec) {
		errs = append(errs, field.Invalid(f.Field, field.OmitValueType{},
			"there is no pod on the command line; use a variable with env instead"))
	}
	return errs
}

// podFieldEnv is one name for each path. The hash keeps labels['a.b'] and labels['a-b'] apart.
func podFieldEnv(path string) string {
	sum := sha256.Sum256([]byte(path))
	return fmt.Sprintf("H2SURGE_FIELD_%X", sum[:8])
}

func mounted(kind Kind, name, key string) string {
	return path.Join(FilesDir, itemPath(kind, name, key))
}

// file checks a path on the machine of the runner, and returns it unchanged: a relative path is relative to the working
// directory of the runner.
func (c *checker) file(at *field.Path, name string) string {
	if strings.ContainsRune(name, 0) {
		c.fail(at, "must not have a zero byte in it")
	}
	for _, dir := range []string{FilesDir, SchemasDir} {
		if clean := path.Clean(name); clean == dir || strings.HasPrefix(clean, dir+"/") {
			c.fail(at, "must not be below %s, which is for what ConfigMaps and Secrets hold", dir)
		}
	}
	return name
}
