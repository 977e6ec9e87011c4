package desired

import (
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/h2surge/h2surge/internal/compile"
)

// addPodFields puts the fields of the pod that the spec refers to into the environment of the runner.
func addPodFields(runner *corev1.Container, fields []compile.PodField) {
	for _, f := range fields {
		runner.Env = append(runner.Env, corev1.EnvVar{Name: f.Env, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: f.Path},
		}})
	}
}

// addFiles mounts the keys that the spec names, and nothing else of their objects, where the plan
// looks for them. The kubelet reads the objects; the operator may not read Secrets. An object or a
// key that is not there keeps the pods from starting, and the kubelet says so in an event.
func addFiles(pod *corev1.PodTemplateSpec, runner *corev1.Container, mounts []compile.Mount) {
	if len(mounts) == 0 {
		return
	}
	sources := make([]corev1.VolumeProjection, 0, len(mounts))
	for _, m := range mounts {
		sources = append(sources, projection(m))
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: filesVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: sources},
	}})
	runner.VolumeMounts = append(runner.VolumeMounts, corev1.VolumeMount{Name: filesVolume, MountPath: compile.FilesDir,
		ReadOnly: true})
	n := 0
	for _, m := range mounts {
		if m.Schemas {
			addSchemas(pod, runner, m.Name, n)
			n++
		}
	}
}

// addSchemas mounts all keys of a ConfigMap with JSON Schemas, because a schema can refer to others in the same
// ConfigMap. A projected volume can have all keys only at its top.
func addSchemas(pod *corev1.PodTemplateSpec, runner *corev1.Container, configMap string, n int) {
	volume := schemasVolume + strconv.Itoa(n)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}})
	runner.VolumeMounts = append(runner.VolumeMounts, corev1.VolumeMount{Name: volume,
		MountPath: path.Join(compile.SchemasDir, configMap), ReadOnly: true})
}

func projection(m compile.Mount) corev1.VolumeProjection {
	items := make([]corev1.KeyToPath, 0, len(m.Items))
	for _, item := range m.Items {
		items = append(items, corev1.KeyToPath{Key: item.Key, Path: item.Path})
	}
	name := corev1.LocalObjectReference{Name: m.Name}
	if m.Kind == compile.Secret {
		return corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: name, Items: items}}
	}
	return corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name, Items: items}}
}
